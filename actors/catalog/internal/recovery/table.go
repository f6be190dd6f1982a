package recovery

import (
	"cmp"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
)

const (
	// MaxPauses bounds the pauses of one server that are remembered when they are over, so that the
	// next is longer.
	MaxPauses = 256
	// MaxCauses bounds the endings that are remembered of one server, by connection.
	MaxCauses = 256
)

// Table is what is known of one server. It survives a crash of its catalogue.
type Table struct {
	whole  *Pause                // nil unless all of it is quarantined
	pauses map[tenant.Key]*Pause // of connections that were given up
	away   *absence              // nil unless nothing reaches its URL
	back   time.Time             // when that was over last
	flaps  int                   // of the absence before
	last   *client.Ending        // how a connection ended last: for operators
	// causes are how each connection ended last, without its fingerprint: for those who use it
	causes map[tenant.Key]*client.Ending
}

// New is of a server that has not failed.
func New() Table {
	return Table{pauses: map[tenant.Key]*Pause{}, causes: map[tenant.Key]*client.Ending{}}
}

// Seen is what is known of a connection while something is decided about it.
type Seen struct {
	There   bool // it runs,
	Ready   bool // and is ready
	Opening bool // it is being started
	Trying  bool // it or another one to the server is on its way to being ready
}

// Refused reports whether a connection is not handed out, and how long that lasts at least. Why is
// nil where it is what Why says. What is quarantined is closed to all but the one who comes first
// after its pause: his call is the probe.
func (t *Table) Refused(key tenant.Key, is Seen, now time.Time) (wait time.Duration, refused bool, why *client.Ending) {
	if t.whole != nil && !t.whole.Operator && is.Ready {
		return 0, false, nil // it began before, and works
	}
	if wait, closed := t.away.closed(now); closed && !is.There && t.whole == nil {
		return wait, true, t.away.why
	}
	p := cmp.Or(t.whole, t.pauses[key])
	switch wait := t.Wait(key, now); {
	case p == nil:
	case p.Operator:
		return 0, true, p.Why
	case wait > 0 && (t.whole != nil || !is.There || p.Quarantined() && p.Down):
		return wait, true, nil
	case p.Quarantined() && p.Down && t.probing(key, is):
		return ProbeWait, true, nil
	}
	return 0, false, nil
}

// Closed reports whether a connection is not to be started.
func (t *Table) Closed(key tenant.Key, is Seen, now time.Time) bool {
	_, away := t.away.closed(now)
	return away || t.PutAway() || t.Wait(key, now) > 0 || t.probing(key, is)
}

// probing reports whether what is quarantined is being tried.
func (t *Table) probing(key tenant.Key, is Seen) bool {
	if t.whole != nil {
		return is.Trying
	}
	p := t.pauses[key]
	return p != nil && p.Quarantined() && (is.There || is.Opening)
}

// Wait is how long a connection is not to be started because it was given up; 0 when it may be.
func (t *Table) Wait(key tenant.Key, now time.Time) time.Duration {
	if p := cmp.Or(t.whole, t.pauses[key]); p != nil {
		return max(0, p.Until.Sub(now))
	}
	return 0
}

// Dials says that a connection dials for all, if the server is away.
func (t *Table) Dials(key tenant.Key) {
	if t.away != nil {
		t.away.probe, t.away.dials = key, true
	}
}

// Over says that nobody is to hear of a pause any more that is over: the session may be gone whose
// connection it was.
func (t *Table) Over(key tenant.Key, now time.Time) {
	if p := t.pauses[key]; p != nil && !p.Until.After(now) {
		p.Down = false
	}
}

// PutAwayFor says that an operator has quarantined the server.
func (t *Table) PutAwayFor(why *client.Ending, now time.Time) {
	t.whole = &Pause{Why: why, Since: now, Operator: true}
}

// Forgive forgets all that keeps connections from being started, and reports whether that was a
// quarantine.
func (t *Table) Forgive() (was bool) {
	was = t.Quarantines()
	t.whole, t.last, t.away = nil, nil, nil
	clear(t.causes)
	clear(t.pauses)
	return was
}
