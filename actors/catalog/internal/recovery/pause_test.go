package recovery

import (
	"math/rand/v2"
	"testing"
	"time"

	"mcpd/actors/client"
)

// §B5: the last pauses cover the whole range below their bound, and never exceed it. No pause is
// so short that a server is restarted over and over.
func TestPausesAreDrawnBelowTheirBound(t *testing.T) {
	for _, of := range []struct {
		operator    bool // true makes the pause a quarantine
		first, last time.Duration
	}{{false, FirstPause, LastPause}, {true, FirstProbe, LastProbe}} {
		now := time.Unix(0, 0)
		low, high := of.last, time.Duration(0)
		for range 500 {
			p := Pause{Operator: of.operator}
			want := of.first
			for round := range 10 {
				wait := p.grow(&client.Ending{}, now, rand.N[time.Duration])
				if wait < of.first/2 || wait > want || !p.Until.Equal(now.Add(wait)) {
					t.Fatalf("round %d: %v until %v, want %v to %v", round, wait, p.Until, of.first/2, want)
				}
				if want == of.last {
					low, high = min(low, wait), max(high, wait)
				}
				want = min(2*want, of.last)
			}
		}
		if low > of.last/4 || high < of.last*3/4 {
			t.Errorf("the last pauses are %v to %v, which is not all that is below %v", low, high, of.last)
		}
	}
}
