package faults

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// childStop is not Fatal: a process that continues before the host has noticed keeps its
// connection.
var childStop = Kind{
	Name: "child.stop", CatalogueIDs: []string{"F18"}, Aim: AtProgram, Silent: true,
	Needs: NeedSameMachine,
	Description: "the process of a server is stopped, with those that it has started, and goes on " +
		"at the end " +
		"unless the host has replaced it",
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		c, err := child(ctx, s)
		if err != nil {
			return Injected{}, err
		}
		if err := c.process.Signal(syscall.SIGSTOP); err != nil {
			return Injected{}, err
		}
		if leads(c.process) {
			// fails if the process is gone and so has no group
			_ = syscall.Kill(-c.process.Pid, syscall.SIGSTOP)
		}
		in := done(c.String())
		in.Heal = func(ctx context.Context) error {
			if leads(c.process) {
				_ = syscall.Kill(-c.process.Pid, syscall.SIGCONT)
			}
			return resume(c.process)(ctx)
		}
		return in, nil
	},
}

// leads reports whether a process is alive and leads its own process group. The host starts each
// server so; the group includes the processes that a launcher starts.
func leads(p *os.Process) bool {
	group, err := syscall.Getpgid(p.Pid)
	return err == nil && group == p.Pid && p.Signal(syscall.Signal(0)) == nil
}

// resume returns a function that lets a stopped process continue. A process that has ended is no
// error.
func resume(p *os.Process) func(context.Context) error {
	return func(context.Context) error {
		if err := p.Signal(syscall.SIGCONT); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return nil
	}
}
