package otp

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/internal/clock"
)

// row is a place in the tree: what a Ref points to. It outlives the processes that run in it one after the other.
//
// The atomics are written by the process that runs in the row or by its supervisor, and read by anybody.
type row struct {
	sys    *System
	parent *row // nil at the root
	wall   *row // the bulkhead that it is behind, which may be itself; the root if there is no other
	id     string
	path   string

	// spec is resolved, and shared by all entries of a pool. A supervisor that restarts may replace it.
	spec atomic.Pointer[Child]

	proc     atomic.Pointer[guard] // nil while no process takes messages here
	inc      atomic.Uint64
	restarts atomic.Uint32
	hung     atomic.Int32 // processes that were fenced off here or below and have not come back
	near     atomic.Int32 // those of them that are on this side of every bulkhead below
	status   atomic.Uint32
	strategy atomic.Uint32
	since    atomic.Int64 // nanoseconds of clock.Steady
	extra    atomic.Pointer[any]
	stuck    atomic.Bool  // written by the watch
	unstable atomic.Int64 // nanoseconds of clock.Steady until which it has to run to be stable again
	shunned  atomic.Pointer[shunned]
	holding  holding

	mu       sync.Mutex  // guards the fields below, and changes of proc and status
	owner    *supervisor // who may change them: nobody once the supervisor was abandoned
	args     any         // for the child's start
	heir     any
	watchers chain[watcher]
	kids     map[string]*row
	order    chain[*row] // of the children, as they were started

	place[*row] // among its siblings; the parent's mu guards it
}

// watcher is told when what runs in a row ends. It is called with the row's lock held by nobody.
type watcher interface {
	down(inc uint64, reason error)
	seat() *place[watcher] // guarded by the mu of the row
}

func newRow(sys *System, parent *row, owner *supervisor, id string, child *Child, args any) *row {
	r := &row{sys: sys, parent: parent, owner: owner, id: id, path: id, args: args}
	r.spec.Store(child)
	r.wall = r
	if parent != nil {
		r.path = parent.path + "/" + id
		if !child.Bulkhead {
			r.wall = parent.wall
		}
	}
	r.since.Store(clock.Steady(sys.clock.Now()))
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
	r.since.Store(clock.Steady(now))
}

// mark changes the status on behalf of the row's supervisor. One that was abandoned, and has a successor, marks nothing.
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

// house puts a process into the row on behalf of its supervisor, and reports whether that may.
func (r *row) house(v *supervisor, g *guard, s Status, now time.Time) bool {
	left, ok := r.swap(v, g, s, now)
	r.sys.mourn(left)
	return ok
}

// swap is house; what waited for the process that was in the row is the caller's to tell of.
func (r *row) swap(v *supervisor, g *guard, s Status, now time.Time) (left []lost, ok bool) {
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

// evicted: the process is no longer its row's. One that was fenced off for a successor has none: what waits there is lost.
func (g *guard) evicted() (left []lost) {
	if g != nil && g.abandoned.Load() {
		left, _ = g.box.close(ErrNoProc, false)
	}
	return left
}

// rest marks the row as one in which nothing runs. Whoever began to watch since the last end hears it now.
func (r *row) rest(v *supervisor, s Status, now time.Time) {
	left, ok := r.swap(v, nil, s, now)
	if ok {
		r.down(r.inc.Load(), ErrNoProc)
	}
	r.sys.mourn(left)
}

// release ends a supervisor's hold on the row: nothing runs there until somebody adopts it. What waited is the caller's to tell of. It reports false
// when the row is no longer the supervisor's.
func (r *row) release(v *supervisor, now time.Time) (left []lost, ok bool) {
	r.mu.Lock()
	if r.owner != v {
		r.mu.Unlock()
		return nil, false
	}
	r.owner = nil
	old := r.proc.Swap(nil)
	if Status(r.status.Load()) != Forsaken {
		r.set(Stopped, now)
	}
	r.mu.Unlock()
	r.down(r.inc.Load(), ErrNoProc)
	return old.evicted(), true
}

// seize takes the row from a supervisor that was abandoned, and returns what runs there, which is nobody's then.
func (r *row) seize(now time.Time) (old *guard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owner = nil
	r.set(Forsaken, now)
	return r.proc.Swap(nil)
}

// inherit hands the row to its supervisor's next incarnation, whose spec may differ.
func (r *row) inherit(v *supervisor, c *Child) {
	if r.parent.proc.Load() != v.guard { // it was abandoned meanwhile
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owner = v
	r.spec.Store(c)
}

// add puts a child's row at the end on behalf of the process of this row, unless that has a successor.
func (r *row) add(c *row, by *guard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.proc.Load() != by {
		return
	}
	if r.kids == nil {
		r.kids = make(map[string]*row)
	}
	r.kids[c.id] = c
	r.order.add(c)
}

// remove takes a child's row out; it becomes an address at which nothing runs.
func (r *row) remove(c *row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kids[c.id] != c {
		return
	}
	if delete(r.kids, c.id); len(r.kids) == 0 {
		r.kids = nil // one that was large keeps its room
	}
	r.order.drop(c)
}

func (r *row) find(id string) *row {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kids[id]
}

// rows is the children's rows in start order.
func (r *row) rows() []*row {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kids) == 0 {
		return nil
	}
	return slices.AppendSeq(make([]*row, 0, len(r.kids)), r.order.all())
}

// watch registers w for the next end in this row and reports whether there is anything that can end.
func (r *row) watch(w watcher) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch Status(r.status.Load()) {
	case Stopped, Paused, Forsaken:
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

// down tells everyone who watches that an incarnation has ended, in the order in which they began to.
func (r *row) down(inc uint64, reason error) {
	r.mu.Lock()
	watchers := r.watchers.take()
	r.mu.Unlock()
	for _, w := range watchers {
		w.down(inc, reason)
	}
}

// disinherit drops the heirs of this row and of those below it. It ends their use, so what they were started with goes too.
func (r *row) disinherit(reason error) {
	each(append(r.all(), r), func(r *row) {
		r.mu.Lock()
		r.args = nil
		r.mu.Unlock()
		r.abandonHeir(reason)
	})
}

// all is the rows below this one, each before the one that it is below.
func (r *row) all() (all []*row) {
	for _, c := range r.rows() {
		all = append(append(all, c.all()...), c)
	}
	return all
}

// about is what an event says of this row.
func (r *row) about(inc uint64, now time.Time) Row {
	return Row{Path: r.path, Label: r.child().Label, Type: r.child().Start.Type(), Incarnation: inc, At: now}
}
