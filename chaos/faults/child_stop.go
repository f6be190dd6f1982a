package faults

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// It is not Fatal: a process that goes on before the host has noticed keeps its connection.
var childStop = Kind{
	Name: "child.stop", Rows: []string{"F18"}, Aim: AtProgram, Silent: true, Needs: Machine,
	Is: "the process of a server is stopped, with those that it has started, and goes on at the end unless the host has replaced it",
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		c, err := child(ctx, s)
		if err != nil {
			return Injected{}, err
		}
		if err := c.process.Signal(syscall.SIGSTOP); err != nil {
			return Injected{}, err
		}
		if leads(c.process) {
			_ = syscall.Kill(-c.process.Pid, syscall.SIGSTOP) // one that is gone has none
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

// leads reports whether a process has a group of its own, as the host gives its servers. What a launcher starts is in it.
func leads(p *os.Process) bool {
	group, err := syscall.Getpgid(p.Pid)
	return err == nil && group == p.Pid && p.Signal(syscall.Signal(0)) == nil
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
