package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// ErrNotOurs says that nobody would start the host again.
var ErrNotOurs = errors.New("the host is not ours to kill")

var hostKill = Kind{
	Name: "host.kill", Rows: []string{"F61"}, Aim: AtHost, Contends: true, Needs: Machine | Own,
	Is: "the host is killed, and started again at the end",
	Inject: func(_ context.Context, s *Site) (Injected, error) {
		if s.Start == nil {
			return Injected{}, ErrNotOurs
		}
		p, err := host(s)
		if err != nil {
			return Injected{}, err
		}
		defer p.Release() //nolint:errcheck // it closes a descriptor
		if err := p.Signal(syscall.SIGKILL); err != nil {
			return Injected{}, err
		}
		in := done(fmt.Sprintf("the host, process %d", s.PID))
		var once sync.Once
		in.Heal = func(ctx context.Context) (err error) {
			once.Do(func() { err = s.Start(ctx) })
			return err
		}
		return in, nil
	},
}

// host is the process of the host, held so that no other gets its signals.
func host(s *Site) (*os.Process, error) {
	if s.PID == 0 {
		return nil, errors.New("the host is on another machine")
	}
	return os.FindProcess(s.PID)
}
