package otp

// Down is the message that tells a worker that something it monitors has ended.
type Down struct {
	Ref Ref
	// Incarnation is the one that ended.
	Incarnation uint64
	// Reason is why it ended; ErrNoProc when nothing ran to begin with.
	Reason error
}

// Monitor asks for one Down message when the incarnation at ref ends, or at once with ErrNoProc when nothing runs there.
// While a restart is on its way it is the next incarnation that is monitored. A second Monitor of the same address
// before the Down has no effect.
func (p *Process) Monitor(ref Ref) {
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		return
	}
	x := p.extra()
	if _, ok := x.monitors[ref.row]; ok {
		p.mu.Unlock()
		return
	}
	if x.monitors == nil {
		x.monitors = make(map[*row]*monitor)
	}
	m := &monitor{p: p, ref: ref}
	x.monitors[ref.row] = m
	x.crowd = x.crowd || len(x.monitors) > crowded
	p.mu.Unlock()
	if ref.row == nil || !ref.row.watch(m) {
		m.down(ref.Incarnation(), ErrNoProc)
	}
}

// Demonitor takes Monitor back. After it no Down for ref arrives, even when one was already waiting in the mailbox.
func (p *Process) Demonitor(ref Ref) {
	p.mu.Lock()
	m := p.extra().monitors[ref.row]
	p.x.forget(ref.row)
	p.mu.Unlock()
	if m != nil && ref.row != nil {
		ref.row.unwatch(m)
	}
}

// monitor is also the envelope in which its Down travels, so that Demonitor reaches it there.
type monitor struct {
	p   *Process
	ref Ref
	inc uint64
	why error
	place[watcher]
}

func (m *monitor) down(inc uint64, reason error) {
	m.inc, m.why = inc, reason
	m.p.deliver(m)
}

func (m *monitor) open() (any, bool) {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	if m.p.x.monitors[m.ref.row] != m {
		return nil, false
	}
	m.p.x.forget(m.ref.row)
	return Down{m.ref, m.inc, m.why}, true
}

// Link ties two workers together: when either ends with any reason but Normal, the other ends with the same reason. A link to
// an address where nothing runs ends the caller with ErrNoProc. A supervisor does not end by a link. Linking to
// oneself has no effect.
func (p *Process) Link(ref Ref) {
	if ref == p.Self() || p.isOver() {
		return
	}
	there := &link{p: p}
	if ref.row == nil || !ref.row.watch(there) {
		there.down(0, ErrNoProc)
		return
	}
	p.keep(ref.row, there)
	g := ref.row.proc.Load()
	if g == nil {
		return
	}
	if other := g.current.Load(); other != nil {
		here := &link{p: other}
		p.guard.row.watch(here)
		other.keep(p.guard.row, here)
	}
}

// link ends p when the row it watches goes down.
type link struct {
	p  *Process
	at *row
	place[watcher]
}

func (l *link) down(_ uint64, reason error) {
	if reason != Normal {
		l.p.guard.box.PostSystemMessage(linkExit{l.p, reason})
	}
}

// keep remembers a link so that it goes when its owner does.
func (p *Process) keep(at *row, l *link) {
	l.at = at
	p.mu.Lock()
	over := p.over
	if !over {
		x := p.extra()
		if x.links == nil {
			x.links = make(map[*link]struct{})
		}
		x.links[l] = struct{}{}
	}
	p.mu.Unlock()
	if over {
		at.unwatch(l)
	}
}

// linkExit tells a worker that something it is linked to has ended.
type linkExit struct {
	p      *Process
	reason error
}

// crowded is how many monitors are so many that their map, which keeps its room, is let go of with the last. One that comes and goes costs no map.
const crowded = 64

func (x *extras) forget(r *row) {
	if delete(x.monitors, r); len(x.monitors) == 0 && x.crowd {
		x.monitors, x.crowd = nil, false
	}
}
