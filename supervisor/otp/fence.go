package otp

import "errors"

// Bounds on isolated processes that have not returned. Each is a goroutine with its stack and
// everything the stack refers to; it cannot be ended. Above the bound a supervisor gives up instead
// of replacing another process: restarting does not help when children hang again and again.
const (
	// MaxHung is how many isolated processes that have not returned there may be in one failure
	// domain: the rows from one with Child.Bulkhead down to the next ones below it. The root begins a
	// failure domain too. So stuck processes in one failure domain do not use up the replacements of
	// another. A supervisor that has as many below it, in its own failure domain, refuses to start new
	// children.
	MaxHung = 64
	// MaxHungInAll is how many isolated processes that have not returned there may be in all failure
	// domains except the root's: 16 times MaxHung. A domain can exceed MaxHung when a supervisor below
	// it is restarted and hangs again. The excess is not counted against other domains.
	MaxHungInAll = 1024
)

// room reports whether one more process may be replaced in a failure domain. own is how many stuck
// processes the domain has, all is how many all domains except the root's have; all is 0 for the
// root's domain. If fewer than MaxHung of MaxHungInAll are left, a domain may have one more only
// while it has fewer than are left. So a domain without stuck processes is refused last.
func room(own, all int) bool { return own < min(MaxHung, MaxHungInAll-all) }

// full reports whether stuck processes in this row are not replaced any more.
func (r *row) full() bool {
	all := 0
	if r.wall.parent != nil {
		all = int(r.sys.walled.Load())
	}
	return !room(int(r.wall.near.Load()), all)
}

// MaxStarting is how many requested starts of children a supervisor has under way at once, in any
// order. Another request waits until one of them is ready or has failed. So when all starts hang,
// no more than this are under way when the first failure is known. OTP starts one at a time.
const MaxStarting = 64

// Fenced is carried state that can be taken from a stuck incarnation. Go cannot end a goroutine: a
// goroutine that was given up may return at any time and continue, in the middle of a change. So
// the carried state of a stuck incarnation is dropped, and its Abandon method is called once the
// goroutine has returned (see Process.SetHeir). If the value has the method Fence, the next
// incarnation gets the result of Fence instead.
type Fenced interface {
	// Fence returns the value for the next incarnation, nil for none. It is called on another
	// goroutine than the worker's, which may be running. So Fence must not wait for a lock that the
	// worker may hold. After Fence the worker must be able neither to change the returned value nor to
	// work without it: let it panic where it would.
	Fence() any
}

// fence takes the mailbox from the process, unless the process has moved on from what it handled at
// since. A since of 0 fits whatever the process handles. The waiting messages stay for a successor.
func (m *mailbox) fence(since stamp) (current any, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hand.ring()
	m.settle()
	if m.closed || m.fenced || since != 0 && m.hand.at() != since {
		return nil, false
	}
	m.guard.abandoned.Store(true)
	current = m.current
	m.fenced, m.open, m.current = true, false, nil
	m.crowd()
	return current, true
}

// succeed takes over the messages that wait in a fenced mailbox, and those that will be sent there.
// It is called before anybody else knows m.
func (m *mailbox) succeed(old *mailbox) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old.mu.Lock()
	defer old.mu.Unlock()
	if !old.fenced || old.closed || old.next != nil {
		return
	}
	m.user = old.user.move()
	m.swollen.Store(m.user.large())
	m.taken, old.taken = old.taken, 0
	old.next = m
}

// cut is the work that is left after processes were isolated. It calls code of other packages, so
// it comes last.
type cut struct {
	lost []lost   // messages to fail
	busy []*guard // processes in the middle of something
}

// bereave takes the carried state from the busy processes. A successor starts after that.
func (c cut) bereave() { each(c.busy, (*guard).bereave) }

// abandon isolates the process for good: its waiting messages fail. It runs on the supervisor's
// goroutine, while the process may do anything.
func (g *guard) abandon() (c cut) {
	if g.abandoned.Swap(true) {
		c.lost, _ = g.box.close(ErrKilled, true)
		return c
	}
	return g.forsake()
}

// expel abandons a process, unless it has moved on from what it handled at since. The message being
// handled fails with reason.
func (g *guard) expel(since stamp, reason error) (c cut, ok bool) {
	current, ok := g.box.fence(since)
	if !ok {
		return cut{}, false
	}
	c = g.forsake()
	if current != nil {
		c.lost = append(c.lost, lost{g.row.path, current, reason})
	}
	return c, true
}

// forsake cuts off a process that has no successor, and all processes below it.
func (g *guard) forsake() (c cut) {
	g.sever(ErrKilled)
	left, busy := g.box.close(ErrKilled, true)
	c.lost = left
	if busy {
		c.busy = append(c.busy, g)
	}
	g.box.PostSystemMessage(proceed{}) // a wake-up, should it be idle
	for _, r := range g.row.rows() {
		if child := r.seize(g.sys.clock.Now()); child != nil {
			below := child.abandon()
			c.lost, c.busy = append(c.lost, below.lost...), append(c.busy, below.busy...)
		}
		r.down(r.inc.Load(), ErrNoProc)
	}
	g.row.down(g.inc(), ErrKilled)
	return c
}

// replace isolates the process in favour of a successor, which gets the waiting messages. It
// reports false when the process has moved on from what it handled at since; a since of 0 fits
// whatever it handles. Like abandon, it runs on the supervisor's goroutine.
func (g *guard) replace(since stamp, reason error) (c cut, ok bool) {
	current, ok := g.box.fence(since)
	if !ok {
		return cut{}, false
	}
	g.sever(reason)
	g.box.PostSystemMessage(proceed{})
	g.row.down(g.inc(), reason)
	c.busy = []*guard{g}
	if current != nil {
		c.lost = []lost{{g.row.path, current, reason}}
	}
	return c, true
}

// sever cuts the process off from the system and from its incarnation, and counts it until it
// returns.
func (g *guard) sever(reason error) {
	g.missed.Store(true)
	g.row.miss(1)
	g.box.release(g.box.turn.Swap(nil))
	if p := g.current.Load(); p != nil {
		p.cancel(reason)
		p.finish()
	}
}

// miss changes the counts of processes that have not returned, in the row and above it. The row may
// be deleted before they return.
func (r *row) miss(n int32) {
	r.sys.hung.Add(n)
	wall := r.wall
	for c := r; c != wall.parent; c = c.parent {
		own := c.near.Add(n)
		if c == wall && wall.parent != nil && max(own, own-n) <= MaxHung {
			r.sys.walled.Add(n)
		}
	}
	for ; r != nil; r = r.parent {
		r.hung.Add(n)
	}
}

// errHeld is why carried state is dropped that a stuck incarnation may still change.
var errHeld = errors.New("held by a goroutine that is stuck")

// bereave takes the row's carried state from a process that is in the middle of something.
func (g *guard) bereave() {
	r := g.row
	r.mu.Lock()
	heir := r.heir
	r.heir = nil
	r.mu.Unlock()
	var next any
	defer func() { g.bequeath(heir, next) }()
	if f, ok := heir.(Fenced); ok {
		g.sys.guarded(r.path, "Fence", func() { next = f.Fence() })
	}
}

// bequeath stores next as carried state for the replacement process. If next is nil, the state is
// dropped, and its Abandon runs once the stuck goroutine returns.
func (g *guard) bequeath(heir, next any) {
	r := g.row
	if next != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.heir = next
		return
	}
	g.debts.Swap(nil).fail(g, ErrStuck)
	if heir == nil {
		return
	}
	defer g.sys.emit(HeirDropped{r.about(g.inc(), g.sys.clock.Now()), errHeld.Error()})
	g.relic.Store(&heir)
	if !g.missed.Load() { // it has returned already
		g.back()
	}
}

// vanish ends an isolated process that has returned.
func (g *guard) vanish() {
	if g.phase != left {
		g.phase = left
		g.ctx.InvokeSystemMessage(stopOrder)
		g.let()
	}
	g.back()
}

// back is called when nothing of the process runs any more. It drops what only the process could
// touch.
func (g *guard) back() {
	if g.missed.Swap(false) {
		g.row.miss(-1)
	}
	if heir := g.relic.Swap(nil); heir != nil {
		if h, ok := (*heir).(interface{ Abandon(reason error) }); ok {
			g.sys.guarded(g.row.path, "heir", func() { h.Abandon(ErrStuck) })
		}
	}
}
