package otp

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/internal/clock"
)

// row is a place in the tree: a Ref points to it. It outlives the processes that run in it one
// after the other.
//
// The atomic fields are written by the process that runs in the row or by its supervisor, and read
// by any goroutine.
type row struct {
	sys    *System
	parent *row // nil at the root
	// domain is the topmost row of the failure domain that this row is in: the nearest one with
	// Child.FailureDomain, which may be this row itself, or else the root.
	domain *row
	id     string
	path   string

	// spec is resolved, and shared by all entries of a pool. A restarted supervisor may replace it.
	spec atomic.Pointer[Child]

	proc     atomic.Pointer[guard] // nil while no process takes messages here
	inc      atomic.Uint64
	restarts atomic.Uint32
	// isolated counts isolated processes here and below that have not returned.
	isolated atomic.Int32
	// domainIsolated counts the isolated processes that are not in a failure domain further below.
	domainIsolated atomic.Int32
	status         atomic.Uint32
	strategy       atomic.Uint32
	since          atomic.Int64 // nanoseconds of clock.SteadyNanos
	extra          atomic.Pointer[any]
	stuck          atomic.Bool // written by the watch
	// unstable is the time, in nanoseconds of clock.SteadyNanos, until which the child has to run to
	// count as stable again.
	unstable atomic.Int64
	refusals atomic.Pointer[refusals]
	holding  heldMessages

	mu        sync.Mutex  // guards the fields below, and changes of proc and status
	owner     *supervisor // may change them; nil once the supervisor was abandoned
	args      any         // arguments of the child's start
	carried   any
	watchers  chain[watcher]
	childRows map[string]*row
	order     chain[*row] // the children's rows in the order of their start

	place[*row] // place among its siblings, guarded by the mu of the parent
}

// watcher is told when what runs in a row ends. It is called while nobody holds the row's lock.
type watcher interface {
	down(inc uint64, reason error)
	seat() *place[watcher] // safely by the mu of the row
}

func newRow(sys *System, parent *row, owner *supervisor, id string, child *Child, args any) *row {
	r := &row{sys: sys, parent: parent, owner: owner, id: id, path: id, args: args}
	r.spec.Store(child)
	r.domain = r
	if parent != nil {
		r.path = parent.path + "/" + id
		if !child.FailureDomain {
			r.domain = parent.domain
		}
	}
	r.since.Store(clock.SteadyNanos(sys.clock.Now()))
	return r
}

func (r *row) child() *Child { return r.spec.Load() }

func (r *row) arguments() any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.args
}

func (r *row) set(s Status, now time.Time) {
	r.status.Store(uint32(s))
	r.since.Store(clock.SteadyNanos(now))
}

// mark changes the status on behalf of the row's supervisor. An abandoned supervisor changes
// nothing, because it has a successor.
func (r *row) mark(v *supervisor, s Status, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owner == v {
		r.set(s, now)
	}
}

func (r *row) ownedBy(v *supervisor) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owner == v
}

// house puts a process into the row on behalf of its supervisor. It reports whether the supervisor
// still owns the row.
func (r *row) house(v *supervisor, g *guard, s Status, now time.Time) bool {
	left, ok := r.swap(v, g, s, now)
	r.sys.failAll(left)
	return ok
}

// swap does the work of house, but leaves it to the caller to fail the messages that waited for the
// old process.
func (r *row) swap(v *supervisor, g *guard, s Status,
	now time.Time) (left []failedMessage, ok bool) {
	r.mu.Lock()
	if r.owner != v {
		r.mu.Unlock()
		return nil, false
	}
	old := r.proc.Swap(g)
	r.set(s, now)
	r.mu.Unlock()
	return old.evicted(), true
}

// evicted is called when a process leaves its row. If the process was isolated and no successor has
// taken over its mailbox, the mailbox is closed and its waiting messages are returned.
func (g *guard) evicted() (left []failedMessage) {
	if g != nil && g.abandoned.Load() {
		left, _ = g.mailbox.close(ErrNoProc, false)
	}
	return left
}

// rest marks the row as one in which nothing runs. Watchers that were added since the last end are
// told now.
func (r *row) rest(v *supervisor, s Status, now time.Time) {
	left, ok := r.swap(v, nil, s, now)
	if ok {
		r.down(r.inc.Load(), ErrNoProc)
	}
	r.sys.failAll(left)
}

// release ends a supervisor's ownership of the row: nothing runs there until another supervisor
// adopts it. The caller must fail the returned messages. ok is false when the supervisor does not
// own the row any more.
func (r *row) release(v *supervisor, now time.Time) (left []failedMessage, ok bool) {
	r.mu.Lock()
	if r.owner != v {
		r.mu.Unlock()
		return nil, false
	}
	r.owner = nil
	old := r.proc.Swap(nil)
	if Status(r.status.Load()) != StatusAbandoned {
		r.set(Stopped, now)
	}
	r.mu.Unlock()
	r.down(r.inc.Load(), ErrNoProc)
	return old.evicted(), true
}

// seize takes the row from an abandoned supervisor. It returns the process in the row, which then
// belongs to nobody.
func (r *row) seize(now time.Time) (old *guard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owner = nil
	r.set(StatusAbandoned, now)
	return r.proc.Swap(nil)
}

// handOver hands the row to the next incarnation of its supervisor, whose spec may differ.
func (r *row) handOver(v *supervisor, c *Child) {
	if r.parent.proc.Load() != v.guard { // the supervisor was abandoned meanwhile
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owner = v
	r.spec.Store(c)
}

// add appends a child's row on behalf of the process of this row, unless that process has a
// successor.
func (r *row) add(c *row, by *guard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.proc.Load() != by {
		return
	}
	if r.childRows == nil {
		r.childRows = make(map[string]*row)
	}
	r.childRows[c.id] = c
	r.order.add(c)
}

// remove takes out a child's row. Its Refs become addresses at which nothing runs.
func (r *row) remove(c *row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.childRows[c.id] != c {
		return
	}
	if delete(r.childRows, c.id); len(r.childRows) == 0 {
		r.childRows = nil // a map that was large keeps its memory
	}
	r.order.drop(c)
}

func (r *row) find(id string) *row {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.childRows[id]
}

// rows returns the children's rows in start order.
func (r *row) rows() []*row {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.childRows) == 0 {
		return nil
	}
	return slices.AppendSeq(make([]*row, 0, len(r.childRows)), r.order.all())
}

// watch registers w for the next end in this row. It reports false when nothing is there that can
// end.
func (r *row) watch(w watcher) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch Status(r.status.Load()) {
	case Stopped, Paused, StatusAbandoned:
		return false
	}
	r.watchers.add(w)
	return true
}

func (r *row) unwatch(w watcher) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers.drop(w)
}

// down tells all watchers that an incarnation has ended, in the order in which they registered.
func (r *row) down(inc uint64, reason error) {
	r.mu.Lock()
	watchers := r.watchers.take()
	r.mu.Unlock()
	for _, w := range watchers {
		w.down(inc, reason)
	}
}

// dropAllCarried drops the carried state of this row and of the rows below it, and the arguments of
// their starts, which are not needed any more.
func (r *row) dropAllCarried(reason error) {
	each(append(r.all(), r), func(r *row) {
		r.mu.Lock()
		r.args = nil
		r.mu.Unlock()
		r.dropCarried(reason)
	})
}

// forgetStart drops the starts and the status of this row and the rows below it, once they are
// removed. Refs outlive them in timers and in the tables of other actors, and would keep all that a
// start closes over.
func (r *row) forgetStart() {
	for _, r := range append(r.all(), r) {
		c := *r.child()
		c.Start = c.Start.ended()
		r.spec.Store(&c)
		r.extra.Store(nil)
	}
}

// all returns the rows below this one, children before their parents.
func (r *row) all() (all []*row) {
	for _, c := range r.rows() {
		all = append(append(all, c.all()...), c)
	}
	return all
}

// about returns the Row part of an event about this row.
func (r *row) about(inc uint64, now time.Time) Row {
	return Row{
		Path: r.path, Label: r.child().Label, Type: r.child().Start.Type(), Incarnation: inc, At: now,
	}
}
