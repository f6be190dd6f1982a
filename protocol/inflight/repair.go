package inflight

import (
	"maps"
	"slices"
	"time"

	"mcpd/protocol"
)

// Repair makes the table sound again after its owner crashed in the midst of a step. It returns what is to be done for requests that are
// in the table no more: what the owner had not done of the last step's effects, which is those that it has not set to zero, and then the end of
// each request that is not what it should be, or not sound to the owner; of these there are broken. They are good until the next step, as those
// of a step are. The rest goes on with its deadlines. The timer must be armed anew: Step with Expire does that.
func (t *Table[K, O]) Repair(sound func(K, O) bool) (left []Effect[K, O], broken int) {
	if t.entries == nil {
		t.entries = map[K]*entry[K, O]{}
	}
	for _, e := range t.timers { // what is in one of the two is in flight
		if e == nil {
			continue
		}
		if old := t.entries[e.Key]; old == nil || old.Key != e.Key {
			t.entries[e.Key] = e
		}
	}
	for _, e := range t.effects {
		if e.Do == Finish || e.Do == Reject || e.Do == Withdraw {
			left = append(left, e)
		}
		if e.Do == Finish {
			delete(t.entries, e.Request.Key)
		}
	}
	t.timers = make(heap[K, O], 0, len(t.entries))
	t.spare, t.armed = nil, time.Time{}
	t.record.repair()
	for _, key := range slices.Sorted(maps.Keys(t.entries)) {
		e := t.entries[key]
		if !e.sound() || e.Key != key || !sound(key, e.Owner) {
			r := Request[K, O]{Key: key}
			if e != nil {
				r.Method, r.Owner, r.Forwarded = e.Method, e.Owner, e.Forwarded
			}
			left = append(left, Effect[K, O]{Do: Finish, Request: r, Outcome: Lost})
			broken++
			delete(t.entries, key)
			continue
		}
		t.timers.push(e)
	}
	t.effects = left
	return left, broken
}

// sound reports whether a request is one that Step could have left.
func (e *entry[K, O]) sound() bool {
	switch {
	case e == nil, e.Started.IsZero(), e.timeout <= 0, e.Deadline.Before(e.Started), e.end.Before(e.Started), e.parks < 0:
		return false
	case e.parks > 0:
		return e.Parked && !e.parked.Before(e.Started)
	}
	return !e.Parked && !e.Deadline.After(e.end)
}

// repair keeps the history and the sums as far as they can be gone through.
func (r *record[K]) repair() {
	if r.limit <= 0 || r.ttl <= 0 {
		r.limit, r.ttl = protocol.MaxHistory, protocol.HistoryTTL
	}
	if r.first < 0 || r.first > len(r.lines) {
		r.lines, r.first = nil, 0
	}
	for method, m := range r.metrics {
		if m == nil {
			delete(r.metrics, method)
		}
	}
	if r.metrics == nil {
		r.metrics = make(map[string]*Metrics)
	}
}
