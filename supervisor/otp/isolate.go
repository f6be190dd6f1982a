package otp

import "errors"

// A process that is stuck is isolated: cut off from the system and replaced. Its goroutine cannot
// be ended. It keeps its stack, and all that the stack refers to, until it returns. These are
// bounds on the number of such processes. Above the bound a supervisor gives up instead of
// replacing another process: restarting does not help when children hang again and again.
const (
	// MaxIsolated is the maximum number of such processes in one failure domain. A failure domain is a
	// row with Child.FailureDomain, or the root, and the rows below it, without the failure domains
	// further below. So stuck processes in one failure domain do not use up the replacements of
	// another. A supervisor with MaxIsolated of them below it in its failure domain starts no new
	// child.
	MaxIsolated = 64
	// MaxIsolatedTotal is how many isolated processes that have not returned there may be in all
	// failure domains except the root's: 16 times MaxIsolated. A domain can exceed MaxIsolated when a
	// supervisor below it is restarted and hangs again. The excess is not counted against other
	// domains.
	MaxIsolatedTotal = 1024
)

// mayReplace reports whether one more process may be replaced in a failure domain. own is how many
// stuck processes the domain has, all is how many all domains except the root's have; all is 0 for
// the root's domain. If fewer than MaxIsolated of MaxIsolatedTotal are left, a domain may have one
// more only while it has fewer than are left. So a domain without stuck processes is refused last.
func mayReplace(own, all int) bool { return own < min(MaxIsolated, MaxIsolatedTotal-all) }

// atIsolationLimit reports whether stuck processes in this row are not replaced any more.
func (r *row) atIsolationLimit() bool {
	all := 0
	if r.domain.parent != nil {
		all = int(r.sys.isolatedInDomains.Load())
	}
	return !mayReplace(int(r.domain.domainIsolated.Load()), all)
}

// MaxStarting is how many requested starts of children a supervisor has under way at once, in any
// order. Another request waits until one of them is ready or has failed. So when all starts hang,
// no more than this are under way when the first failure is known. OTP starts one at a time.
const MaxStarting = 64

// Detachable is carried state that can be taken from a stuck incarnation. Go cannot end a
// goroutine: a goroutine that was given up may return at any time and continue, in the middle of a
// change. So the carried state of a stuck incarnation is dropped, and its Abandon method is called
// once the goroutine has returned (see Process.SetCarriedState). If the value has the method
// Detach, the next incarnation gets the result of Detach instead.
type Detachable interface {
	// Detach returns the value for the next incarnation, nil for none. It is called on another
	// goroutine than the worker's, which may be running. So Detach must not wait for a lock that the
	// worker may hold. After Detach the worker must not be able to change the returned value, nor to
	// continue without it: make each such access panic.
	Detach() any
}

// isolate takes the mailbox from the process, unless the process has moved on from what it handled
// at since. A since of 0 fits whatever the process handles. The waiting messages stay for a
// successor.
func (m *mailbox) isolate(since stamp) (current any, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cursor.interrupt()
	m.reconcile()
	if m.closed || m.isolated || since != 0 && m.cursor.at() != since {
		return nil, false
	}
	m.guard.abandoned.Store(true)
	current = m.currentMessage
	m.isolated, m.open, m.currentMessage = true, false, nil
	m.wakeWaiters()
	return current, true
}

// takeOver takes over the messages that wait in an isolated mailbox, and those that will be sent
// there. It is called before anybody else knows m.
func (m *mailbox) takeOver(old *mailbox) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old.mu.Lock()
	defer old.mu.Unlock()
	if !old.isolated || old.closed || old.next != nil {
		return
	}
	m.user = old.user.move()
	m.oversized.Store(m.user.large())
	m.limitCount, old.limitCount = old.limitCount, 0
	old.next = m
}

// cleanup is the work that is left after processes were isolated. It calls code of other packages,
// so it comes last.
type cleanup struct {
	lost []failedMessage // messages to fail
	busy []*guard        // processes in the middle of something
}

// takeCarried takes the carried state from the busy processes. A successor starts after that.
func (c cleanup) takeCarried() { each(c.busy, (*guard).takeCarried) }

// abandon isolates the process for good: its waiting messages fail. It runs on the supervisor's
// goroutine, while the process may do anything.
func (g *guard) abandon() (c cleanup) {
	if g.abandoned.Swap(true) {
		c.lost, _ = g.mailbox.close(ErrKilled, true)
		return c
	}
	return g.abandonTree()
}

// abandonIfStuck abandons a process, unless it has moved on from what it handled at since. The
// message being handled fails with reason.
func (g *guard) abandonIfStuck(since stamp, reason error) (c cleanup, ok bool) {
	current, ok := g.mailbox.isolate(since)
	if !ok {
		return cleanup{}, false
	}
	c = g.abandonTree()
	if current != nil {
		c.lost = append(c.lost, failedMessage{g.row.path, current, reason})
	}
	return c, true
}

// abandonTree cuts off a process that has no successor, and all processes below it.
func (g *guard) abandonTree() (c cleanup) {
	g.cutOff(ErrKilled)
	left, busy := g.mailbox.close(ErrKilled, true)
	c.lost = left
	if busy {
		c.busy = append(c.busy, g)
	}
	g.mailbox.PostSystemMessage(proceed{}) // a wake-up, should it be idle
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
func (g *guard) replace(since stamp, reason error) (c cleanup, ok bool) {
	current, ok := g.mailbox.isolate(since)
	if !ok {
		return cleanup{}, false
	}
	g.cutOff(reason)
	g.mailbox.PostSystemMessage(proceed{})
	g.row.down(g.inc(), reason)
	c.busy = []*guard{g}
	if current != nil {
		c.lost = []failedMessage{{g.row.path, current, reason}}
	}
	return c, true
}

// cutOff cuts the process off from the system and from its incarnation, and counts it until it
// returns.
func (g *guard) cutOff(reason error) {
	g.countedIsolated.Store(true)
	g.row.countIsolated(1)
	g.mailbox.scheduleHandedOver(g.mailbox.turn.Swap(nil))
	if p := g.current.Load(); p != nil {
		p.cancel(reason)
		p.finish()
	}
}

// countIsolated changes the counts of processes that have not returned, in the row and above it.
// The row may be deleted before they return.
func (r *row) countIsolated(n int32) {
	r.sys.isolated.Add(n)
	domain := r.domain
	for c := r; c != domain.parent; c = c.parent {
		own := c.domainIsolated.Add(n)
		if c == domain && domain.parent != nil && max(own, own-n) <= MaxIsolated {
			r.sys.isolatedInDomains.Add(n)
		}
	}
	for ; r != nil; r = r.parent {
		r.isolated.Add(n)
	}
}

// errHeld is the reason for dropping carried state that a stuck incarnation may still change.
var errHeld = errors.New("held by a goroutine that is stuck")

// takeCarried takes the row's carried state from a process that is in the middle of something.
func (g *guard) takeCarried() {
	r := g.row
	r.mu.Lock()
	carried := r.carried
	r.carried = nil
	r.mu.Unlock()
	var next any
	defer func() { g.storeCarried(carried, next) }()
	if f, ok := carried.(Detachable); ok {
		g.sys.safely(r.path, "Detach", func() { next = f.Detach() })
	}
}

// storeCarried stores next as carried state for the replacement process. If next is nil, the state
// is dropped, and its Abandon runs once the stuck goroutine returns.
func (g *guard) storeCarried(carried, next any) {
	r := g.row
	if next != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.carried = next
		return
	}
	g.pending.Swap(nil).fail(g, ErrStuck)
	if carried == nil {
		return
	}
	defer g.sys.emit(StateDropped{r.about(g.inc(), g.sys.clock.Now()), errHeld.Error()})
	g.heldCarried.Store(&carried)
	if !g.countedIsolated.Load() { // it has returned already
		g.returned()
	}
}

// leaveIsolated ends an isolated process that has returned.
func (g *guard) leaveIsolated() {
	if g.phase != left {
		g.phase = left
		g.ctx.InvokeSystemMessage(stopOrder)
		g.clear()
	}
	g.returned()
}

// returned is called when nothing of the process runs any more. It drops what only the process
// could touch.
func (g *guard) returned() {
	if g.countedIsolated.Swap(false) {
		g.row.countIsolated(-1)
	}
	if carried := g.heldCarried.Swap(nil); carried != nil {
		if h, ok := (*carried).(interface{ Abandon(reason error) }); ok {
			g.sys.safely(g.row.path, "carried state", func() { h.Abandon(ErrStuck) })
		}
	}
}
