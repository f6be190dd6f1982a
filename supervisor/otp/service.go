package otp

import (
	"context"
	"errors"
	"fmt"

	"github.com/thejerf/suture/v4"
)

// service is a worker that runs a suture service in its own goroutine.
type service struct {
	Base
	produce func() (suture.Service, error)
}

func newService(produce func() (suture.Service, error)) *service {
	return &service{produce: produce}
}

// Init makes the service, which may acquire what it needs, and starts it.
func (s *service) Init(p *Process) error {
	svc, err := s.produce()
	if err != nil {
		return err
	}
	p.Go("serve", svc.Serve)
	return nil
}

// Receive ends the row when the service has ended. A service has no mailbox, so other messages
// fail.
func (s *service) Receive(p *Process, msg any) error {
	done, ok := msg.(Done)
	if !ok {
		p.guard.sys.fail(p.Path(), msg, ErrUnhandled)
		return nil
	}
	return serviceReason(done.Err)
}

// serviceReason translates the result of a service into a reason; see the table in the package
// documentation.
func serviceReason(err error) error {
	switch {
	case err == nil, errors.Is(err, suture.ErrDoNotRestart):
		return Normal
	case errors.Is(err, suture.ErrTerminateSupervisorTree):
		return fmt.Errorf("%w: %w", ErrGiveUp, err)
	}
	return err
}

// NewService returns a tree as a service for the outermost suture supervisor. Each Serve starts the
// tree anew and returns when the tree has ended. When the tree ends by itself, the error is the
// reason of the tree, and suture waits and serves it again. A tree that was stopped by
// Tree.Shutdown is not served again. Suture's Spec.Timeout must be longer than the tree takes to
// stop.
func NewService(sys *System, name string, spec Spec) suture.Service {
	return &treeService{name: name, start: func(ctx context.Context) (*Tree, error) {
		return sys.Start(ctx, name, spec)
	}}
}

// Service is NewService for a tree that runs already and is not built again. When the tree ends by
// itself, the whole suture tree is told to end with it.
func (t *Tree) Service() suture.Service {
	return &treeService{
		name:       t.row.path,
		endsSuture: true,
		start:      func(context.Context) (*Tree, error) { return t, nil },
	}
}

type treeService struct {
	name       string
	endsSuture bool
	start      func(context.Context) (*Tree, error)
}

func (s *treeService) String() string { return s.name }

// Serve runs the tree until the tree or ctx ends. When ctx ends, Serve stops the tree and waits for
// it.
func (s *treeService) Serve(ctx context.Context) error {
	t, err := s.start(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return errors.Join(ctx.Err(), t.Shutdown(context.WithoutCancel(ctx)))
	case <-t.done:
	}
	switch {
	case t.err == ErrShutdown: // it was stopped on purpose
		return fmt.Errorf("tree %s: %w: %w", s.name, t.err, suture.ErrDoNotRestart)
	case s.endsSuture:
		return fmt.Errorf("tree %s: %w: %w", s.name, t.err, suture.ErrTerminateSupervisorTree)
	}
	return fmt.Errorf("tree %s: %w", s.name, t.err)
}
