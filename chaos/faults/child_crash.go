package faults

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// childCrash is not Fatal: past its restart budget the supervisor of the connection ends, and the
// restarts that it counted are gone with it.
var childCrash = Kind{
	Name: "child.crash", CatalogueIDs: []string{"F11", "F17"}, Aim: AtProgram, Needs: NeedSameMachine,
	Description: "the processes of a server are killed as soon as they are there, again and again",
	Params: []Param{
		{Name: "every", Type: Duration, Default: "100ms", Low: int64(10 * time.Millisecond),
			High: int64(time.Minute), Description: "how often is looked for them"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		if s.PID == 0 {
			return Injected{}, errElsewhere(s)
		}
		last := 0
		return begin(ctx, s, 1, s.Params.Duration("every"),
			func(ctx context.Context, _ int) (int, error) {
				v, err := child(ctx, s)
				if err != nil {
					if errors.Is(err, ErrNoChild) || errors.Is(err, ErrGone) {
						err = nil // it has not been started yet
					}
					return 0, err
				}
				defer v.process.Release() //nolint:errcheck // it closes a descriptor
				if err := v.process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
					return 0, err
				}
				hits := 0
				if v.process.Pid != last { // otherwise the host has not noticed the last kill yet
					hits = 1
				}
				last = v.process.Pid
				return hits, nil
			}).injected("server " + s.Server + " of " + s.Tenant), nil
	},
}
