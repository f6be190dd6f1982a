package transport

import (
	"context"
	"time"
)

// So many parts of what is no message are read in so short a time: 4,000 in a second, and 16 MB.
const (
	PaceMost = 16
	PaceSpan = 4 * time.Millisecond
	PacePart = 4 << 10 // bytes of what is longer
	// PaceMessage is how many parts each message makes up for: the fields of its event, and a comment or an empty line.
	PaceMessage = 4
)

// Pace says how long to rest to whoever reads what nobody waits for: lines that are no messages, comments, standard error. Who floods the host waits that
// long, and takes no core from anybody else (docs/adr/0027).
type Pace struct {
	steps int
	began time.Time // the first of them
}

// Spare lets so many parts pass for nothing, of those that were read or else of the next.
func (p *Pace) Spare(parts int) { p.steps = min(p.steps, max(p.steps, 0)-parts) }

// Take counts parts, and is how long to rest then.
func (p *Pace) Take(parts int, now time.Time) time.Duration {
	if p.steps <= 0 {
		p.began = now
	}
	if p.steps += parts; p.steps < PaceMost {
		return 0
	}
	rest := time.Duration(p.steps/PaceMost)*PaceSpan - min(max(now.Sub(p.began), 0), PaceSpan)
	p.steps %= PaceMost
	p.began = now.Add(rest)
	return rest
}

// Parts is how many parts something of that length is.
func Parts(length int) int { return 1 + length/PacePart }

// Rest waits for so long, or until ctx ends.
func Rest(ctx context.Context, long time.Duration) {
	if long <= 0 {
		return
	}
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
