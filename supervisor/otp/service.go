package otp

import (
	"context"
	"errors"
	"fmt"

	"github.com/thejerf/suture/v4"
)

// service is the worker that runs a suture service in a goroutine of its own.
type service struct {
	Base
	produce func() (suture.Service, error)
}

func newService(produce func() (suture.Service, error)) *service { return &service{produce: produce} }

// Init makes the service, which may acquire what it needs, and lets it run.
func (s *service) Init(p *Process) error {
	svc, err := s.produce()
	if err != nil {
		return err
	}
	p.Go("serve", svc.Serve)
	return nil
}

// Receive ends the row when the service has ended. A service has no mailbox: other messages are failed.
func (s *service) Receive(p *Process, msg any) error {
	done, ok := msg.(Done)
	if !ok {
		p.guard.sys.fail(p.Path(), msg, errUnexpected)
		return nil
	}
	return serviceReason(done.Err)
}

// serviceReason is the table of what a service's result means.
func serviceReason(err error) error {
	switch {
	case err == nil, errors.Is(err, suture.ErrDoNotRestart):
		return Normal
	case errors.Is(err, suture.ErrTerminateSupervisorTree):
		return fmt.Errorf("%w: %w", ErrGiveUp, err)
	}
	return err
}

// NewService returns a tree as a service for the outermost suture supervisor: each Serve starts the tree anew, and ends
// when the tree has. When the tree ends by itself the error is its reason, after which suture waits and serves it
// again; a tree that was told to stop by Tree.Shutdown is not served again. Suture's Spec.Timeout has to be longer than the tree takes to stop.
func NewService(sys *System, name string, spec Spec) suture.Service {
	return &treeService{name: name, start: func(ctx context.Context) (*Tree, error) { return sys.Start(ctx, name, spec) }}
}

// Service is NewService for a tree that runs already and is not to be built again: when it ends by itself, the whole
// suture tree is told to end with it, and main with that.
func (t *Tree) Service() suture.Service {
	return &treeService{
		name:  t.row.path,
		final: true,
		start: func(context.Context) (*Tree, error) { return t, nil },
	}
}

type treeService struct {
	name  string
	final bool
	start func(context.Context) (*Tree, error)
}

func (s *treeService) String() string { return s.name }

// Serve runs the tree until it ends or ctx does; then it stops the tree and waits for it.
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
	case t.err == ErrShutdown: // somebody meant it
		return fmt.Errorf("tree %s: %w: %w", s.name, t.err, suture.ErrDoNotRestart)
	case s.final:
		return fmt.Errorf("tree %s: %w: %w", s.name, t.err, suture.ErrTerminateSupervisorTree)
	}
	return fmt.Errorf("tree %s: %w", s.name, t.err)
}
