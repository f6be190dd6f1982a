package otp

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// pendingReplies are the pending replies of a row: calls that its incarnations have taken and not
// answered. When an incarnation is stuck and its carried state is dropped, these calls fail,
// because nothing is left that could answer them.
type pendingReplies struct {
	mu    sync.Mutex // guards the fields below
	calls map[pendingReply]uint64
	// taken counts all calls that were ever taken. The number of a call is its place among them.
	taken uint64
}

// pendingReply is a call, as its receiver sees it.
type pendingReply interface {
	Failer
	answered() bool
	deferred() bool                 // its receiver answers later
	trackIn(d *pendingReplies) bool // registers d, false when the call is registered elsewhere
}

// trackReply records a handled message, if it is a call that is answered later. A call that was
// neither answered nor announced to be answered later fails at once.
func (g *guard) trackReply(msg any) {
	c, ok := msg.(pendingReply)
	if !ok || c.answered() {
		return
	}
	if !c.deferred() {
		g.sys.safely(g.row.path, "Fail", func() { c.Fail(ErrUnhandled) })
		return
	}
	d := g.pending.Load()
	if d == nil {
		d = &pendingReplies{calls: make(map[pendingReply]uint64)}
	}
	d.mu.Lock()
	d.taken++
	d.calls[c] = d.taken
	d.mu.Unlock()
	if !c.trackIn(d) || c.answered() {
		d.remove(c)
	}
	g.pending.Store(d)
}

func (d *pendingReplies) remove(c pendingReply) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.calls, c)
}

// len returns the number of pending replies. A nil debts has none.
func (d *pendingReplies) len() int {
	if d == nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.calls)
}

// fail fails all calls in the order in which they were taken, because senders can see the order.
func (d *pendingReplies) fail(g *guard, reason error) {
	if d == nil {
		return
	}
	d.mu.Lock()
	calls := slices.SortedFunc(maps.Keys(d.calls), func(a, b pendingReply) int {
		return cmp.Compare(d.calls[a], d.calls[b])
	})
	d.mu.Unlock()
	for _, c := range calls {
		g.sys.safely(g.row.path, "Fail", func() { c.Fail(reason) })
	}
}
