package recovery

import (
	"time"

	"mcpd/actors/client"
)

// Pauses before a connection whose restart budget ran out is started again. A pause is random,
// between half of FirstPause and a bound that doubles each time up to LastPause, so that
// connections that failed together do not restart together. The bound starts again at FirstPause
// after the server was ready for Steady.
const (
	FirstPause = time.Second
	LastPause  = time.Minute
	Steady     = time.Minute
)

// MaxGivenUp is how often a connection is given up in a row until it is quarantined: the last time
// begins the quarantine. The pauses until then take two minutes in all, on average.
const MaxGivenUp = 10

// Pauses before a probe of a quarantined connection, drawn in the same way. LastProbe limits the
// cost of a server that stays broken, and the time for which the recovery of a server may go
// unnoticed.
const (
	FirstProbe = 2 * time.Minute
	LastProbe  = time.Hour
)

// ProbeWait is the retry time for callers that are refused because a probe is in progress.
const ProbeWait = time.Second

// Pause is how long a connection that was given up is held back. Each connection has its own pause,
// so that a failure for one principal keeps no other from the server. A server that cannot work for
// anyone has one pause as a whole.
type Pause struct {
	Why      *client.Ending `json:"why"`
	Since    time.Time      `json:"since"` // of the first failure in a row
	Until    time.Time      `json:"until"`
	Times    int            `json:"times"` // how often in a row it was given up
	Gap      int64          `json:"gap_ns"`
	Operator bool           `json:"operator,omitzero"` // set by an operator; it never ends by itself
	Down     bool           `json:"-"`                 // the connection was not ready since
}

// Quarantined reports whether the pause is a quarantine.
func (p *Pause) Quarantined() bool { return p.Operator || p.Times >= MaxGivenUp }

// grow makes the pause longer than the last and begins it.
func (p *Pause) grow(ending *client.Ending, now time.Time, draw Draw) (wait time.Duration) {
	first, last := FirstPause, LastPause
	if p.Quarantined() {
		first, last = FirstProbe, LastProbe
	}
	p.Why, p.Down = ending, true
	gap, least := min(max(2*time.Duration(p.Gap), first), last), first/2
	p.Gap = int64(gap)
	wait = least + draw(gap-least+1)
	p.Until = now.Add(wait)
	return wait
}

// sound reports whether grow could have made the pause.
func (p *Pause) sound(now time.Time) bool {
	if p == nil || p.Why == nil || p.Times < 0 {
		return false
	}
	return p.Operator || p.Gap >= 0 && time.Duration(p.Gap) <= LastProbe &&
		!p.Until.After(now.Add(LastProbe))
}
