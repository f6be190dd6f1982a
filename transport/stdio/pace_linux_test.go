package stdio

import (
	"strings"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/transport"
)

// All output that a program writes besides its messages is read, at a limited rate.
func TestNoiseHasAPace(t *testing.T) {
	for _, of := range []string{"lines", "long lines", "standard error"} {
		c := connect(t, spec("noise", "STDIO_TEST_ARG", of))
		next(t, c)
		began := time.Now() // it has started
		next(t, c)
		// a pipe holds the unread rest
		if took, least := time.Since(began), 80*transport.PaceSpan; took < least {
			t.Errorf("%s: it was over after %v, want %v", of, took, least)
		}
	}
}

// Messages in arrays are messages, so no rate limit applies.
func TestArraysHaveNoPace(t *testing.T) {
	c := connect(t, spec("arrays"))
	next(t, c)
	c.Negotiated(protocol.V20250326)
	before := c.strays
	for range arrays {
		next(t, c)
	}
	if c.strays != before {
		t.Error("they count as what is no message")
	}
}

// A server that writes an empty line after each message is not slowed.
func TestEmptyLinesBetweenMessagesHaveNoPace(t *testing.T) {
	c := connect(t, spec("spaced"))
	for range arrays {
		next(t, c)
		if strays := c.strays; strays.Take(transport.PaceMost-1, time.Now()) > 0 {
			t.Fatal("they count as too many")
		}
	}
}

// Stray lines that a program has written before its end do not delay the callers that wait for its
// responses.
func TestEmptyLinesDoNotDelayTheEnd(t *testing.T) {
	c := connect(t, spec("blank"))
	began := time.Now()
	if _, exit := ended(t, c); exit.Code != 3 {
		t.Errorf("%v", exit)
	}
	if took := time.Since(began); took > 8*time.Second { // rate-limited they would take 15 s
		t.Errorf("the end was noticed after %s", took)
	}
}

// However much a program prints before it crashes, its last lines are reported.
func TestEndOfAnOutcryIsTold(t *testing.T) {
	for range 5 {
		c := connect(t, spec("outcry"))
		_, exit := ended(t, c)
		if tail := string(exit.Stderr); !strings.HasSuffix(tail, "no database\n") {
			t.Errorf("%v: standard error ends in %.60q", exit, tail[max(0, len(tail)-60):])
		}
	}
}
