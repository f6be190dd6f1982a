package otp

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// pendingCalls are the pending replies of a row: calls that its incarnations have taken and not
// answered. When an incarnation is stuck and its carried state is dropped, these calls fail,
// because nothing is left that could answer them.
type pendingCalls struct {
	mu    sync.Mutex // guards the fields below
	calls map[pendingCall]uint64
	// taken counts all calls that were ever taken. The number of a call is its place among them.
	taken uint64
}

// pendingCall is a call, as its receiver sees it.
type pendingCall interface {
	Failer
	answered() bool
	deferred() bool                  // its receiver answers later
	setTracker(d *pendingCalls) bool // registers d, false when the call is registered elsewhere
}

// trackReply records a handled message, if it is a call that is answered later. A call that its
// receiver neither answered nor marked with AnswerLater fails at once.
func (g *guard) trackReply(msg any) {
	c, ok := msg.(pendingCall)
	if !ok || c.answered() {
		return
	}
	if !c.deferred() {
		g.sys.safely(g.row.path, "Fail", func() { c.Fail(ErrUnhandled) })
		return
	}
	d := g.pending.Load()
	if d == nil {
		d = &pendingCalls{calls: make(map[pendingCall]uint64)}
	}
	d.mu.Lock()
	d.taken++
	d.calls[c] = d.taken
	d.mu.Unlock()
	if !c.setTracker(d) || c.answered() {
		d.remove(c)
	}
	g.pending.Store(d)
}

func (d *pendingCalls) remove(c pendingCall) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.calls, c)
}

// len returns the number of pending replies. A nil *pendingCalls has none.
func (d *pendingCalls) len() int {
	if d == nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.calls)
}

// fail fails all calls in the order in which they were taken, because senders can see the order.
func (d *pendingCalls) fail(g *guard, reason error) {
	if d == nil {
		return
	}
	d.mu.Lock()
	calls := slices.SortedFunc(maps.Keys(d.calls), func(a, b pendingCall) int {
		return cmp.Compare(d.calls[a], d.calls[b])
	})
	d.mu.Unlock()
	for _, c := range calls {
		g.sys.safely(g.row.path, "Fail", func() { c.Fail(reason) })
	}
}
