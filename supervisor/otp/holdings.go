package otp

// Holdings counts the resources that the process of one row holds. They are counted when a snapshot
// is taken, so counting costs nothing otherwise. A process at rest returns to the same numbers; a
// number that stays higher after the work is done shows a leak.
type Holdings struct {
	Monitors int // monitors and links that the process has requested
	Watchers int // monitors and links of others on what runs in this row
	Timers   int // timers that have not fired
	Replies  int // pending replies: calls that the process has taken and not answered
}

// holdings counts what the process of a row holds. It takes three locks, one after the other, only
// while it counts, and asks no actor.
func (r *row) holdings() (h Holdings) {
	r.mu.Lock()
	h.Watchers = r.watchers.len()
	r.mu.Unlock()
	g := r.proc.Load()
	if g == nil {
		return h
	}
	h.Replies = g.pending.Load().len()
	p := g.current.Load()
	if p == nil {
		return h
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.x != nil {
		h.Monitors = len(p.x.monitors) + len(p.x.links)
		h.Timers = p.x.timers.len()
	}
	return h
}
