package otp

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// debts are the calls that a row's incarnations have taken and not answered. Who asked is told when the one that would have answered is stuck, and
// what it knew is given up with it.
type debts struct {
	mu    sync.Mutex // guards the fields below
	calls map[debt]uint64
	taken uint64 // how many calls were ever taken; a call's number is its place among them
}

// debt is a call, as who owes the answer sees it.
type debt interface {
	Failer
	answered() bool
	owedAt(d *debts) bool // from now on; false when it is owed elsewhere
}

// owe takes note of a message that has been handled, if it is a call and not answered.
func (g *guard) owe(msg any) {
	c, ok := msg.(debt)
	if !ok || c.answered() {
		return
	}
	d := g.debts.Load()
	if d == nil {
		d = &debts{calls: make(map[debt]uint64)}
	}
	d.mu.Lock()
	d.taken++
	d.calls[c] = d.taken
	d.mu.Unlock()
	if !c.owedAt(d) || c.answered() {
		d.paid(c)
	}
	g.debts.Store(d)
}

func (d *debts) paid(c debt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.calls, c)
}

// len is how many calls there are; a nil debts has none.
func (d *debts) len() int {
	if d == nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.calls)
}

// fail fails all calls, in the order in which they were taken: senders can tell the order.
func (d *debts) fail(g *guard, reason error) {
	if d == nil {
		return
	}
	d.mu.Lock()
	calls := slices.SortedFunc(maps.Keys(d.calls), func(a, b debt) int { return cmp.Compare(d.calls[a], d.calls[b]) })
	d.mu.Unlock()
	for _, c := range calls {
		g.sys.guarded(g.row.path, "Fail", func() { c.Fail(reason) })
	}
}
