package otp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a Behaviour made of functions. Each may be nil.
type script struct {
	init      func(p *Process) error
	receive   func(p *Process, msg any) error
	terminate func(p *Process, reason error)
}

func (s *script) Init(p *Process) error {
	if s.init == nil {
		return nil
	}
	return s.init(p)
}

func (s *script) Receive(p *Process, msg any) error {
	if f, ok := msg.(func(*Process) error); ok {
		return f(p)
	}
	if s.receive == nil {
		return nil
	}
	return s.receive(p, msg)
}

func (s *script) Terminate(p *Process, reason error) {
	if s.terminate != nil {
		s.terminate(p, reason)
	}
}

func scriptWorker(s script) Start { return Worker(func() Behaviour { c := s; return &c }) }

// runTree runs f in a synctest bubble, on a rig with a tree of the given spec.
func runTree(t *testing.T, spec Spec, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.tree, r.err = r.sys.Start(context.Background(), "top", spec)
		if r.err != nil {
			t.Fatal(r.err)
		}
		f(t, r)
	})
}

func oneChild(c Child) Spec {
	return Spec{Intensity: Intensity{10, time.Hour}, Children: []Child{c}}
}

// runInActor sends a function that a script runs as a message, and waits until the bubble is idle.
func runInActor(t *testing.T, ref Ref, f func(*Process) error) {
	t.Helper()
	if err := ref.Send(f); err != nil {
		t.Fatalf("%s: %v", ref, err)
	}
	synctest.Wait()
}

// failer is a message that records how it failed.
type failer struct{ err error }

func (f *failer) Fail(err error) { f.err = err }

var errTest = errors.New("test")
