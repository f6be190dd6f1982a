package request

import (
	"cmp"
	"iter"
	"slices"
	"sync"
	"time"

	"mcpd/supervisor/otp"
)

// ledger is the table behind a lock, so that it can be taken from a manager that is stuck: that one may come back at any time, and ends when it
// finds the table gone. No method waits for anything.
type ledger struct {
	mu    sync.Mutex // guards what follows
	table *table
	taken bool
}

func newLedger(t *table) *ledger { return &ledger{table: t} }

func (l *ledger) open() *table {
	l.mu.Lock()
	if l.taken {
		l.mu.Unlock()
		panic(otp.ErrStuck)
	}
	return l.table
}

// fence takes the table away, and returns it behind another lock; nil when it is in use.
func (l *ledger) fence() *ledger {
	if !l.mu.TryLock() {
		return nil
	}
	defer l.mu.Unlock()
	if l.taken {
		return nil
	}
	l.taken = true
	return newLedger(l.table)
}

// step appends the effects of an event to a list. Each has to be said to be done.
func (l *ledger) step(now time.Time, e event, to []effect) []effect {
	t := l.open()
	defer l.mu.Unlock()
	return append(to, t.Step(now, e)...)
}

// done: an effect is not to be repeated after a crash.
func (l *ledger) done(i int) {
	t := l.open()
	defer l.mu.Unlock()
	t.Done(i)
}

func (l *ledger) repair() (left []effect, broken int) {
	t := l.open()
	defer l.mu.Unlock()
	left, broken = t.Repair(sound)
	return slices.Clone(left), broken
}

func (l *ledger) get(id uint64) (inflightRequest, bool) {
	t := l.open()
	defer l.mu.Unlock()
	return t.Get(id)
}

// pending are the exchanges in flight as they are now, in the order in which they came.
func (l *ledger) pending() iter.Seq[inflightRequest] {
	t := l.open()
	defer l.mu.Unlock()
	return slices.Values(slices.SortedFunc(t.Pending(), func(a, b inflightRequest) int { return cmp.Compare(a.Key, b.Key) }))
}

func (l *ledger) len() int {
	t := l.open()
	defer l.mu.Unlock()
	return t.Len()
}

func (l *ledger) setPending(limit int) {
	t := l.open()
	defer l.mu.Unlock()
	t.SetPending(limit)
}
