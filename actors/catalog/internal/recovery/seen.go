package recovery

import (
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/internal/order"
)

// Whole is the pause of all of the server, nil unless it is quarantined.
func (t *Table) Whole() *Pause { return t.whole }

// PutAway reports whether an operator has quarantined it.
func (t *Table) PutAway() bool { return t.whole != nil && t.whole.Operator }

// Down is that pause, or that of the connection that was given up and not ready since; of several
// the one that was given up most often.
func (t *Table) Down() (worst *Pause) {
	if t.whole != nil {
		return t.whole
	}
	for _, p := range order.By(t.pauses, tenant.Key.Compare) {
		if p.Down && (worst == nil || p.Times > worst.Times || p.Times == worst.Times && p.Since.Before(worst.Since)) {
			worst = p
		}
	}
	return worst
}

// Away is why nothing reaches the server, nil if something does, and when it is dialled next.
func (t *Table) Away() (why *client.Ending, until time.Time) {
	if t.away == nil {
		return nil, time.Time{}
	}
	return t.away.why, t.away.until
}

// Last is how a connection ended last, nil if that was forgiven.
func (t *Table) Last() *client.Ending { return t.last }

// Why is what may be told of a failure: why the server cannot work for anybody, or how the first of
// these connections ended that has. It may hold what the server wrote on behalf of who has it.
func (t *Table) Why(keys ...tenant.Key) *client.Ending {
	if t.whole != nil {
		return t.whole.Why
	}
	for _, key := range keys {
		if cause := t.causes[plain(key)]; cause != nil {
			return cause
		}
	}
	return nil
}

// plain is a key without what else its clients can do: they are the same.
func plain(key tenant.Key) tenant.Key {
	key.Fingerprint, key.Revision = 0, 0
	return key
}

// ended remembers how a connection ended; nil forgets it.
func (t *Table) ended(key tenant.Key, cause *client.Ending) {
	if t.last = cause; cause == nil {
		delete(t.causes, plain(key))
		return
	}
	if len(t.causes) >= MaxCauses {
		clear(t.causes)
	}
	t.causes[plain(key)] = cause
}

// Quarantined reports whether a connection is quarantined, alone or with all of the server.
func (t *Table) Quarantined(key tenant.Key) bool {
	p := t.pauses[key]
	return t.whole != nil || p != nil && p.Quarantined() && p.Down
}

// Quarantines reports whether any part of the server is quarantined.
func (t *Table) Quarantines() bool {
	for _, p := range t.pauses {
		if p.Quarantined() {
			return true
		}
	}
	return t.whole != nil
}

// Vain reports whether a program was given up that never came to its handshake.
func (t *Table) Vain(key tenant.Key) bool {
	p := t.pauses[key]
	return p != nil && p.Down && p.Why.Vain()
}
