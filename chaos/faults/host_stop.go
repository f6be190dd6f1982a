package faults

import (
	"context"
	"fmt"
	"syscall"
)

var hostStop = Kind{
	Name: "host.stop", CatalogueIDs: []string{"F62"}, Aim: AtHost, Contends: true, Quiet: true,
	Needs:       NeedSameMachine,
	Description: "the host is stopped, as by a machine that sleeps, and goes on at the end",
	Inject: func(_ context.Context, s *Site) (Injected, error) {
		p, err := host(s)
		if err != nil {
			return Injected{}, err
		}
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			return Injected{}, err
		}
		in := done(fmt.Sprintf("the host, process %d", s.PID))
		in.Heal = resume(p)
		return in, nil
	},
}
