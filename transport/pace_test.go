package transport

import (
	"testing"
	"time"
)

// Few parts pass at once, and so do many that are spread over enough time. A part beyond the limit
// of a span waits for the end of the span, however long before the span another part was read.
func TestPace(t *testing.T) {
	type step struct {
		at    time.Duration
		spare int
		parts int
		rest  time.Duration
	}
	const span = PaceSpan
	for name, steps := range map[string][]step{
		"few":                  {{parts: PaceMost - 1}},
		"too many at once":     {{parts: PaceMost, rest: span}},
		"too many, one by one": {{parts: PaceMost - 1}, {parts: 1, rest: span}},
		"in some of the time": {{parts: PaceMost - 1},
			{at: span / 4, parts: 1, rest: span * 3 / 4}},
		"in all of it": {{parts: PaceMost - 1}, {at: span, parts: 1}},
		"much at once": {{parts: 10*PaceMost + 3, rest: 10 * span},
			{at: 10 * span, parts: PaceMost - 3, rest: span}},
		"much after a long time": {{parts: 1}, {at: time.Hour, parts: 10 * PaceMost, rest: 9 * span}},
		"again after a rest": {{parts: PaceMost, rest: span},
			{at: span, parts: PaceMost, rest: span}},
		"with messages between": {{parts: PaceMost - 1}, {spare: PaceMessage, parts: PaceMessage},
			{parts: 1, rest: span}},
		"a message among more": {{spare: 100}, {spare: 5, parts: 100 + PaceMost - 1},
			{parts: 1, rest: span}},
		"no more is spared than one": {{spare: 5}, {spare: 5, parts: 5 + PaceMost - 1},
			{parts: 1, rest: span}},
	} {
		var p RateLimiter
		begin := time.Now()
		for i, s := range steps {
			if s.spare > 0 {
				p.Spare(s.spare)
			}
			if got := p.Take(s.parts, begin.Add(s.at)); got != s.rest {
				t.Errorf("%s: step %d rests for %v, want %v", name, i, got, s.rest)
			}
		}
	}
}

func TestParts(t *testing.T) {
	for length, want := range map[int]int{0: 1, PacePart - 1: 1, PacePart: 2, 10 * PacePart: 11} {
		if got := Parts(length); got != want {
			t.Errorf("%d bytes are %d parts, want %d", length, got, want)
		}
	}
}
