package recovery

import (
	"time"

	"mcpd/actors/client"
)

// Pauses before a connection whose restart budget ran out is started again: anything from half the
// first to a bound that is doubled each time, so that those which fell together do not rise
// together. It is the first again after the server was ready for Steady.
const (
	FirstPause = time.Second
	LastPause  = time.Minute
	Steady     = time.Minute
)

// MaxGivenUp is how often in a row a connection is given up before it is quarantined: with pauses of
// two minutes in all, on average.
const MaxGivenUp = 10

// Pauses before a probe of what is quarantined, drawn in the same way. The last is what a broken
// server costs that is never mended, and how long one that was mended by itself may go unnoticed.
const (
	FirstProbe = 2 * time.Minute
	LastProbe  = time.Hour
)

// ProbeWait is when those may come back who are refused because a probe is under way.
const ProbeWait = time.Second

// Pause is how long a connection that was given up is left alone. Each has its own: what one
// principal does to his server is no reason to keep another from hers. A server that cannot work for
// anybody has one as a whole.
type Pause struct {
	Why      *client.Ending `json:"why"`
	Since    time.Time      `json:"since"` // of the first time in the row
	Until    time.Time      `json:"until"`
	Times    int            `json:"times"` // that it was given up in a row
	Gap      int64          `json:"gap_ns"`
	Operator bool           `json:"operator,omitzero"` // it has no end of its own
	Down     bool           `json:"-"`                 // it was not ready since
}

// Quarantined reports whether it is quarantined.
func (p *Pause) Quarantined() bool { return p.Operator || p.Times >= MaxGivenUp }

// grow makes the pause longer than the last and begins it.
func (p *Pause) grow(why *client.Ending, now time.Time, draw Draw) (wait time.Duration) {
	first, last := FirstPause, LastPause
	if p.Quarantined() {
		first, last = FirstProbe, LastProbe
	}
	p.Why, p.Down = why, true
	gap, least := min(max(2*time.Duration(p.Gap), first), last), first/2
	p.Gap = int64(gap)
	wait = least + draw(gap-least+1)
	p.Until = now.Add(wait)
	return wait
}

// sound reports whether it is one that grow could have made.
func (p *Pause) sound(now time.Time) bool {
	if p == nil || p.Why == nil || p.Times < 0 {
		return false
	}
	return p.Operator || p.Gap >= 0 && time.Duration(p.Gap) <= LastProbe && !p.Until.After(now.Add(LastProbe))
}
