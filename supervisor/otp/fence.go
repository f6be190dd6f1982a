package otp

import "errors"

// Bounds of processes that were fenced off and have not come back. Each is a goroutine with its stack and what it refers to, for which nothing can be
// done. Where there are more a supervisor gives up instead of replacing another one: what hangs again and again is not mended by more of it.
const (
	// MaxHung is how many there may be between a bulkhead (Child.Bulkhead) and the next ones below it. The root is one too, so that what hangs behind others
	// neither uses up the room of what is outside of them nor that of each other. A supervisor that has as many below it on its side refuses to start
	// what was not there before.
	MaxHung = 64
	// MaxHungInAll is how many there may be behind all bulkheads but the root: those of 16 that use up theirs. What one has beyond MaxHung, because what is
	// behind it was started again and hung again, is not counted against the others.
	MaxHungInAll = 1024
)

// room reports whether one more may be replaced behind a bulkhead that has own of them, while all have so many. When there is not enough left for
// everybody, whoever has fewer than what is left may have more: one that has none is refused last.
func room(own, all int) bool { return own < min(MaxHung, MaxHungInAll-all) }

// full reports whether what hangs here is not replaced any more.
func (r *row) full() bool {
	all := 0
	if r.wall.parent != nil {
		all = int(r.sys.walled.Load())
	}
	return !room(int(r.wall.near.Load()), all)
}

// MaxStarting is how many children a supervisor starts at once for those who ask, in any order. Another request waits for one of them to be ready, or to have
// failed, so that of starts which all hang no more are under way when the first is known to. OTP starts one at a time.
const MaxStarting = 64

// Fenced is an heir that can be taken from an incarnation that is stuck. Go cannot end a goroutine: one that was given up may come back at any
// moment and go on with what it was doing, in the middle of a change. So the heir of a stuck incarnation is given up as well, and told
// so (see SetHeir) when the goroutine has come back, unless it has this method.
type Fenced interface {
	// Fence returns what the next incarnation may have, nil for nothing. It is called on another goroutine than the worker's, while
	// that may go on: it must not wait for a lock which the worker may hold, and from then on the worker must not be able to change what
	// was returned, nor to go on without it: a panic where it would is its end.
	Fence() any
}

// fence takes the mailbox from the process, unless it is no longer at what it was at then (0: whatever it is at). What waits stays for a
// successor.
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

// succeed takes over what waits in a mailbox that was fenced, and what is going to be sent there. It is called before anybody knows this one.
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

// cut is what is left to do once processes were fenced off, which calls somebody else's code: it comes last.
type cut struct {
	lost []lost   // to mourn
	busy []*guard // in the middle of something
}

// bereave takes their heirs from those who are in the middle of something. A successor is started after it.
func (c cut) bereave() { each(c.busy, (*guard).bereave) }

// abandon fences the process off for good: what waits for it is failed. It runs on the supervisor's goroutine while the process may be doing
// anything.
func (g *guard) abandon() (c cut) {
	if g.abandoned.Swap(true) {
		c.lost, _ = g.box.close(ErrKilled, true)
		return c
	}
	return g.forsake()
}

// expel abandons a process, unless what it is at was not begun at since. The message in hand fails with reason.
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

// forsake cuts off a process that has no successor, and all that are below it.
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

// replace fences the process off for one that takes its place, which gets what waits for it. It reports false when the process has come back from what
// it was at since then (0: whatever it is at). Like abandon it runs on the supervisor's goroutine.
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

// sever cuts the process off from the system and from its incarnation, and counts it until it comes back.
func (g *guard) sever(reason error) {
	g.missed.Store(true)
	g.row.miss(1)
	g.box.release(g.box.turn.Swap(nil))
	if p := g.current.Load(); p != nil {
		p.cancel(reason)
		p.finish()
	}
}

// miss counts who has not come back, in the row and above it: the row may be gone before they are back.
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

// errHeld is why an heir is given up that a stuck incarnation may still change.
var errHeld = errors.New("held by a goroutine that is stuck")

// bereave takes the row's heir from a process that is in the middle of something.
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

// bequeath leaves next to who takes the place of the process. When that is nothing the heir is given up, and what is told of it is left to when the process
// is back.
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
	if !g.missed.Load() { // it is back already
		g.back()
	}
}

// vanish ends a process that had been fenced off and has come back.
func (g *guard) vanish() {
	if g.phase != left {
		g.phase = left
		g.ctx.InvokeSystemMessage(stopOrder)
		g.let()
	}
	g.back()
}

// back: nothing of the process runs any more. What only it could touch is let go of.
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
