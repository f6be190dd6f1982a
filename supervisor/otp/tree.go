package otp

import (
	"context"
	"fmt"
	"slices"
)

// Tree is a supervision tree that was started with System.Start.
type Tree struct {
	sys     *System
	row     *row
	guard   *guard
	started chan struct{}
	done    chan struct{}
	err     error // set before done is closed
}

// Start checks a spec, starts its supervisor as a root with the given name, and returns when
// everything is ready. Children start left to right, each after the one before is ready. When a
// start fails or ctx ends, the children that did start are stopped in reverse, and the error says
// which start failed, or wraps the cause of ctx. A name can be used again when its tree has ended;
// the rows keep their counters. For a bad name or spec the error has one *SpecError for each
// mistake.
func (s *System) Start(ctx context.Context, name string, spec Spec) (*Tree, error) {
	if reason := badID(name); reason != "" {
		return nil, &SpecError{".", "name", reason}
	}
	if err := Validate(spec); err != nil {
		return nil, err
	}
	t, err := s.newTree(name, spec)
	if err != nil {
		return nil, err
	}
	if s.scheduler != nil {
		s.scheduler.Wait(func() bool {
			return isClosed(t.started) || isClosed(t.done) || ctx.Err() != nil
		})
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

// newTree makes the row and the process of the root.
func (s *System) newTree(name string, spec Spec) (*Tree, error) {
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

// Ref returns the address of the root supervisor.
func (t *Tree) Ref() Ref { return Ref{t.row} }

// Snapshot returns the tree as it is now; see System.Snapshot.
func (t *Tree) Snapshot() Node { return t.row.snapshot() }

// Done returns a channel that is closed when the whole tree has ended.
func (t *Tree) Done() <-chan struct{} { return t.done }

// Err returns why the tree has ended, nil while it runs: ErrShutdown when it was told to stop, an
// error that wraps an *IntensityError when its root gave up.
func (t *Tree) Err() error {
	select {
	case <-t.done:
		return t.err
	default:
		return nil
	}
}

// Shutdown stops the tree and returns when it has ended. Children stop in reverse, each within its
// Shutdown. When ctx ends first, the error wraps its cause, and the tree continues to stop.
func (t *Tree) Shutdown(ctx context.Context) error {
	t.guard.mailbox.PostSystemMessage(stopOrder)
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

// finish is called by the root's guard as its last action.
func (t *Tree) finish(reason error) {
	t.err = reason
	t.sys.mu.Lock()
	t.sys.trees = slices.DeleteFunc(t.sys.trees, func(o *Tree) bool { return o == t })
	t.sys.mu.Unlock()
	t.row.rest(nil, Stopped, t.sys.clock.Now())
	close(t.done)
}
