package otp

// Down is the message that tells a worker that an incarnation it monitors has ended.
type Down struct {
	Ref Ref
	// Incarnation is the number of the incarnation that ended.
	Incarnation uint64
	// Reason is why it ended, ErrNoProc when nothing ran to begin with.
	Reason error
}

// Monitor requests one Down message when the incarnation at ref ends. When nothing runs there, the
// Down comes at once, with ErrNoProc. While a restart is under way, the next incarnation is
// monitored. A second Monitor of the same address before the Down has no effect.
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
	x.hadMany = x.hadMany || len(x.monitors) > manyMonitors
	p.mu.Unlock()
	if ref.row == nil || !ref.row.watch(m) {
		m.down(ref.Incarnation(), ErrNoProc)
	}
}

// Demonitor cancels Monitor. After it no Down for ref arrives, even if a Down was already waiting
// in the mailbox.
func (p *Process) Demonitor(ref Ref) {
	p.mu.Lock()
	m := p.extra().monitors[ref.row]
	p.x.forget(ref.row)
	p.mu.Unlock()
	if m != nil && ref.row != nil {
		ref.row.unwatch(m)
	}
}

// monitor is also the envelope in which its Down travels, so that Demonitor can void a Down in the
// mailbox.
type monitor struct {
	p     *Process
	ref   Ref
	inc   uint64
	cause error
	place[watcher]
}

func (m *monitor) down(inc uint64, reason error) {
	m.inc, m.cause = inc, reason
	m.p.deliver(m)
}

func (m *monitor) open() (any, bool) {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	if m.p.x.monitors[m.ref.row] != m {
		return nil, false
	}
	m.p.x.forget(m.ref.row)
	return Down{m.ref, m.inc, m.cause}, true
}

// Link ties two workers together: when either ends with a reason other than Normal, the other ends
// with the same reason. A link to an address where nothing runs ends the caller with ErrNoProc. A
// link never ends a supervisor. Linking to oneself has no effect.
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

// link ends p when the row that it watches goes down.
type link struct {
	p  *Process
	at *row
	place[watcher]
}

func (l *link) down(_ uint64, reason error) {
	if reason != Normal {
		l.p.guard.mailbox.PostSystemMessage(linkExit{l.p, reason})
	}
}

// keep stores a link so that it is removed when its owner ends.
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

// linkExit tells a worker that a process it is linked to has ended.
type linkExit struct {
	p      *Process
	reason error
}

// manyMonitors is the number of monitors above which their map is dropped with the last monitor,
// because a map keeps its memory. A single monitor that comes and goes keeps the map.
const manyMonitors = 64

func (x *extras) forget(r *row) {
	if delete(x.monitors, r); len(x.monitors) == 0 && x.hadMany {
		x.monitors, x.hadMany = nil, false
	}
}
