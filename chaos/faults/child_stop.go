package faults

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// It is not Fatal: a process that goes on before the host has noticed keeps its connection.
var childStop = Kind{
	Name: "child.stop", Rows: []string{"F18"}, Aim: AtServer, Needs: Machine,
	Is: "the process of a server is stopped, and goes on at the end unless the host has replaced it",
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		c, err := child(ctx, s)
		if err != nil {
			return Injected{}, err
		}
		if err := c.process.Signal(syscall.SIGSTOP); err != nil {
			return Injected{}, err
		}
		in := done(c.String())
		in.Heal = resume(c.process)
		return in, nil
	},
}

// resume has a process go on, if it is still there.
func resume(p *os.Process) func(context.Context) error {
	return func(context.Context) error {
		if err := p.Signal(syscall.SIGCONT); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return nil
	}
}
