package otp

import (
	"context"
	"fmt"
	"slices"
)

// Tree is a supervision tree that was started.
type Tree struct {
	sys     *System
	row     *row
	guard   *guard
	started chan struct{}
	done    chan struct{}
	err     error // set before done is closed
}

// Start checks a spec, starts its supervisor as a root named name, and returns when everything is ready: left to
// right, each child before the next. When one fails, or ctx ends, those that were started are stopped in reverse and the
// error says which it was. A name can be used again when its tree has ended; the rows keep their counters.
func (s *System) Start(ctx context.Context, name string, spec Spec) (*Tree, error) {
	if why := badID(name); why != "" {
		return nil, &SpecError{".", "name", why}
	}
	if err := Validate(spec); err != nil {
		return nil, err
	}
	t, err := s.plant(name, spec)
	if err != nil {
		return nil, err
	}
	if s.scheduler != nil {
		s.scheduler.Wait(func() bool { return isClosed(t.started) || isClosed(t.done) || ctx.Err() != nil })
	}
	select {
	case <-t.started:
		return t, nil
	case <-t.done:
		return nil, t.err
	case <-ctx.Done():
		_ = t.Shutdown(context.Background())
		return nil, fmt.Errorf("start of %s: %w", name, context.Cause(ctx))
	}
}

// plant makes the root's row and process.
func (s *System) plant(name string, spec Spec) (*Tree, error) {
	child := Child{ID: name, Restart: Temporary, Start: Supervisor(spec)}.resolved()
	t := &Tree{sys: s, started: make(chan struct{}), done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("start of %s: %w", name, errClosed)
	}
	if i := slices.IndexFunc(s.roots, func(r *row) bool { return r.id == name }); i >= 0 {
		t.row = s.roots[i]
		if t.row.proc.Load() != nil {
			return nil, fmt.Errorf("start of %s: %w", name, errDuplicate)
		}
		t.row.spec.Store(&child)
	} else {
		t.row = newRow(s, nil, nil, name, &child, nil)
		s.roots = append(s.roots, t.row)
	}
	s.trees = append(s.trees, t)
	g := s.newGuard(t.row, nil)
	g.top = t
	t.guard = g
	t.row.house(nil, g, Starting, s.clock.Now())
	if err := s.spawn(g); err != nil {
		return nil, fmt.Errorf("start of %s: %w", name, err)
	}
	return t, nil
}

// Ref is the root supervisor's address.
func (t *Tree) Ref() Ref { return Ref{t.row} }

// Snapshot is the tree as it is now; see System.Snapshot.
func (t *Tree) Snapshot() Node { return t.row.snapshot() }

// Done is closed when the tree has ended, all of it.
func (t *Tree) Done() <-chan struct{} { return t.done }

// Err is why the tree has ended, nil while it runs: ErrShutdown when it was told to, an error that wraps an
// *IntensityError when its root gave up.
func (t *Tree) Err() error {
	select {
	case <-t.done:
		return t.err
	default:
		return nil
	}
}

// Shutdown stops the tree, children in reverse, each within its budget, and returns when it has ended. When ctx ends
// first its cause is returned, and the tree goes on stopping.
func (t *Tree) Shutdown(ctx context.Context) error {
	t.guard.box.PostSystemMessage(stopOrder)
	if s := t.sys.scheduler; s != nil {
		s.Wait(func() bool { return isClosed(t.done) || ctx.Err() != nil })
	}
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("shutdown of %s: %w", t.row.path, context.Cause(ctx))
	}
}

// ready is called by the root's guard.
func (t *Tree) ready() {
	t.row.mark(nil, Running, t.sys.clock.Now())
	close(t.started)
}

// finish is called by the root's guard, last of all.
func (t *Tree) finish(reason error) {
	t.err = reason
	t.sys.mu.Lock()
	t.sys.trees = slices.DeleteFunc(t.sys.trees, func(o *Tree) bool { return o == t })
	t.sys.mu.Unlock()
	t.row.rest(nil, Stopped, t.sys.clock.Now())
	close(t.done)
}
