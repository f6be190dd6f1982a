package recovery

import (
	"cmp"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
)

const (
	// MaxPauses bounds the remembered pauses of one server. A pause that is over is remembered because
	// the next one must be longer.
	MaxPauses = 256
	// MaxCauses bounds the remembered endings of one server's connections.
	MaxCauses = 256
)

// Table is the failure state of one server. It survives a crash of its catalogue.
type Table struct {
	whole  *Pause                // nil unless the whole server is quarantined
	pauses map[tenant.Key]*Pause // of connections that were given up
	away   *absence              // nil unless its URL is unreachable
	back   time.Time             // when the last absence ended
	flaps  int                   // flaps of the last absence
	last   *client.Ending        // how a connection ended last, for operators
	// causes are how each connection ended last, for its users. The keys have neither fingerprint nor
	// revision: see withoutFingerprint.
	causes map[tenant.Key]*client.Ending
}

// New makes the table of a server that has not failed.
func New() Table {
	return Table{pauses: map[tenant.Key]*Pause{}, causes: map[tenant.Key]*client.Ending{}}
}

// Seen is the current state of a connection.
type Seen struct {
	There   bool // it runs
	Ready   bool // it is ready
	Opening bool // it is being started
	Trying  bool // it or another connection to the server is being started or restarted
}

// Refused reports whether callers of a connection must be refused, and for how long at least. The
// result why is nil when the method Why has the reason. A quarantined connection is closed to all
// callers but the first after its pause: that caller's request is the probe.
func (t *Table) Refused(key tenant.Key, is Seen, now time.Time) (wait time.Duration, refused bool,
	ending *client.Ending) {
	if t.whole != nil && !t.whole.Operator && is.Ready {
		return 0, false, nil // it began before the quarantine, and works
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

// Closed reports whether a connection must not be started.
func (t *Table) Closed(key tenant.Key, is Seen, now time.Time) bool {
	_, away := t.away.closed(now)
	return away || t.QuarantinedByOperator() || t.Wait(key, now) > 0 || t.probing(key, is)
}

// probing reports whether a probe of a quarantined connection or server is in progress.
func (t *Table) probing(key tenant.Key, is Seen) bool {
	if t.whole != nil {
		return is.Trying
	}
	p := t.pauses[key]
	return p != nil && p.Quarantined() && (is.There || is.Opening)
}

// Wait is how long a connection must not be started because it was given up; 0 if it may be.
func (t *Table) Wait(key tenant.Key, now time.Time) time.Duration {
	if p := cmp.Or(t.whole, t.pauses[key]); p != nil {
		return max(0, p.Until.Sub(now))
	}
	return 0
}

// SetProbe notes that the connection dials for all, if the server is unreachable.
func (t *Table) SetProbe(key tenant.Key) {
	if t.away != nil {
		t.away.probe, t.away.dials = key, true
	}
}

// HidePause hides a pause that is over from Down, because the session that used the connection may
// be gone.
func (t *Table) HidePause(key tenant.Key, now time.Time) {
	if p := t.pauses[key]; p != nil && !p.Until.After(now) {
		p.Down = false
	}
}

// QuarantineByOperator notes that an operator has quarantined the server.
func (t *Table) QuarantineByOperator(ending *client.Ending, now time.Time) {
	t.whole = &Pause{Why: ending, Since: now, Operator: true}
}

// ClearFailures forgets everything that prevents the start of connections. It reports whether any
// of it was a quarantine.
func (t *Table) ClearFailures() (was bool) {
	was = t.Quarantines()
	t.whole, t.last, t.away = nil, nil, nil
	clear(t.causes)
	clear(t.pauses)
	return was
}
