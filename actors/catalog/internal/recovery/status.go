package recovery

import (
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/internal/sortedmap"
)

// ServerPause is the pause of the whole server, nil unless the whole server is quarantined.
func (t *Table) ServerPause() *Pause { return t.whole }

// QuarantinedByOperator reports whether an operator has quarantined the server.
func (t *Table) QuarantinedByOperator() bool { return t.whole != nil && t.whole.Operator }

// WorstPause is the pause of the whole server, or else of a connection that was given up and not
// ready since. Of several connections it chooses the one that was given up most often.
func (t *Table) WorstPause() (worst *Pause) {
	if t.whole != nil {
		return t.whole
	}
	for _, p := range sortedmap.SortedBy(t.pauses, tenant.Key.Compare) {
		if p.Down && (worst == nil || p.Times > worst.Times ||
			p.Times == worst.Times && p.Since.Before(worst.Since)) {
			worst = p
		}
	}
	return worst
}

// Unreachable is the reason why the server is unreachable, and when it is dialled next. The reason
// is nil if the server is not known to be unreachable.
func (t *Table) Unreachable() (ending *client.Ending, until time.Time) {
	if t.away == nil {
		return nil, time.Time{}
	}
	return t.away.why, t.away.until
}

// Last is how the last connection to end has ended; nil if there is none, or a connection was ready
// since, or the server was forgiven.
func (t *Table) Last() *client.Ending { return t.last }

// Why is the reason of a failure for a caller. It is the reason that affects the whole server.
// Otherwise it is how a connection ended: that of the first of these keys for which an ending is
// remembered. It may contain output that the server wrote on behalf of that connection's users.
func (t *Table) Why(keys ...tenant.Key) *client.Ending {
	if t.whole != nil {
		return t.whole.Why
	}
	for _, key := range keys {
		if cause := t.causes[withoutFingerprint(key)]; cause != nil {
			return cause
		}
	}
	return nil
}

// withoutFingerprint is a key without the capabilities and the revision, because the clients are
// the same.
func withoutFingerprint(key tenant.Key) tenant.Key {
	key.Fingerprint, key.Revision = 0, 0
	return key
}

// ended remembers how a connection ended; nil forgets it.
func (t *Table) ended(key tenant.Key, cause *client.Ending) {
	if t.last = cause; cause == nil {
		delete(t.causes, withoutFingerprint(key))
		return
	}
	if len(t.causes) >= MaxCauses {
		clear(t.causes)
	}
	t.causes[withoutFingerprint(key)] = cause
}

// Quarantined reports whether a connection is quarantined, alone or with the whole server.
func (t *Table) Quarantined(key tenant.Key) bool {
	p := t.pauses[key]
	return t.whole != nil || p != nil && p.Quarantined() && p.Down
}

// Quarantines reports whether any connection or the whole server is quarantined.
func (t *Table) Quarantines() bool {
	for _, p := range t.pauses {
		if p.Quarantined() {
			return true
		}
	}
	return t.whole != nil
}

// NeverReady reports whether the connection was given up because its program never completed the
// handshake.
func (t *Table) NeverReady(key tenant.Key) bool {
	p := t.pauses[key]
	return p != nil && p.Down && p.Why.NeverReady()
}
