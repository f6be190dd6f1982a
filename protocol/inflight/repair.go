package inflight

// Repair makes the table sound again after its owner crashed in the midst of a step: the timers are built anew, and a request that is
// not what it should be is taken out and returned, to be answered and reported. The rest goes on with its deadlines. The timer must be
// armed anew: Step with Expire does that.
func (t *Table[K, O]) Repair() []Request[K, O] {
	var broken []Request[K, O]
	t.timers = make(heap[K, O], 0, len(t.entries))
	t.spare, t.effects = nil, nil
	for key, e := range t.entries {
		if e == nil || e.Key != key || e.Started.IsZero() || e.Deadline.Before(e.Started) || e.parks < 0 {
			r := Request[K, O]{Key: key}
			if e != nil {
				r.Method, r.Owner, r.Forwarded = e.Method, e.Owner, e.Forwarded
			}
			broken = append(broken, r)
			delete(t.entries, key)
			continue
		}
		t.timers.push(e)
	}
	return broken
}
