package otp

import "sync"

// debts are the calls that a row's incarnations have taken and not answered. Who asked is told when the one that would have answered is stuck, and
// what it knew is given up with it.
type debts struct {
	mu    sync.Mutex // guards calls
	calls map[debt]struct{}
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
		d = &debts{calls: make(map[debt]struct{})}
	}
	d.mu.Lock()
	d.calls[c] = struct{}{}
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

// fail tells everybody.
func (d *debts) fail(g *guard, reason error) {
	if d == nil {
		return
	}
	d.mu.Lock()
	calls := make([]debt, 0, len(d.calls))
	for c := range d.calls {
		calls = append(calls, c)
	}
	d.mu.Unlock()
	for _, c := range calls {
		g.sys.guarded(g.row.path, "Fail", func() { c.Fail(reason) })
	}
}
