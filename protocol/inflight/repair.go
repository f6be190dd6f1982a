package inflight

import "time"

// Repair makes the table sound again after its owner crashed in the midst of a step. It returns what is to be done for requests that are
// in the table no more: what the owner had not done of the last step's effects, which is those that it has not set to zero, and the end of
// each request that is not what it should be. They are good until the next step, as those of a step are. The rest goes on with its
// deadlines. The timer must be armed anew: Step with Expire does that.
func (t *Table[K, O]) Repair() []Effect[K, O] {
	var left []Effect[K, O]
	for _, e := range t.effects {
		if e.Do == Finish || e.Do == Reject || e.Do == Withdraw {
			left = append(left, e)
		}
	}
	t.timers = make(heap[K, O], 0, len(t.entries))
	t.spare, t.armed = nil, time.Time{}
	for key, e := range t.entries {
		if e == nil || e.Key != key || e.Started.IsZero() || e.Deadline.Before(e.Started) || e.parks < 0 {
			r := Request[K, O]{Key: key}
			if e != nil {
				r.Method, r.Owner, r.Forwarded = e.Method, e.Owner, e.Forwarded
			}
			left = append(left, Effect[K, O]{Do: Finish, Request: r, Outcome: Lost})
			delete(t.entries, key)
			continue
		}
		t.timers.push(e)
	}
	t.effects = left
	return left
}
