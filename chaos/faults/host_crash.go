package faults

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"
)

var hostCrash = Kind{
	Name: "host.crash", CatalogueIDs: []string{"F64"}, Aim: AtHost, Contends: true,
	Needs: NeedSameMachine | NeedOwnHost,
	Description: "the host crashes, is started again and crashes again; at the end it is stopped as " +
		"by " +
		"an operator who has seen that, and started once more",
	Params: []Param{
		{Name: "times", Type: Number, Default: "3", Low: 1, High: 10,
			Description: "how often; three within ten minutes lead to safe mode"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		if s.Start == nil {
			return Injected{}, ErrNotOurs
		}
		c := &crashLoop{endedHost: endedHost{site: s, found: map[string][]float64{}}, pid: s.PID}
		if err := c.crash(); err != nil {
			return Injected{}, err
		}
		times := s.Params.Number("times")
		ended := make(chan error, 1)
		go func() { // it ends when the last host is up or has failed to start; Heal waits for it
			ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(times)*hostEnd)
			defer stop()
			ended <- c.loop(ctx, times)
		}()
		return Injected{
			Target: fmt.Sprintf("the host, process %d", s.PID),
			Heal: func(ctx context.Context) (err error) {
				c.once.Do(func() { err = errors.Join(<-ended, c.restart(ctx)) })
				return err
			},
			Hits:    func(context.Context) (int, error) { return int(c.crashes.Load()), nil },
			Figures: func() map[string][]float64 { return c.found },
		}, nil
	},
}

// crashLoop is a host that crashes again and again.
type crashLoop struct {
	endedHost
	pid     int // of the running host; 0 when the last has ended and none was started since
	crashes atomic.Int64
}

// crash makes the Go runtime of the host end it as it does for a fatal error: it prints all stacks
// and exits.
func (c *crashLoop) crash() error {
	if err := c.signal(c.pid, syscall.SIGQUIT); err != nil {
		return err
	}
	c.crashes.Add(1)
	return nil
}

// loop starts a host after each crash, and crashes each started host but the last.
func (c *crashLoop) loop(ctx context.Context, times int) (err error) {
	for n := 1; ; n++ {
		c.over.Wait()
		c.pid = 0
		if err := errors.Join(c.orphans(), ctx.Err()); err != nil {
			return err
		}
		began := time.Now()
		if c.pid, err = c.site.Launch(ctx); err != nil {
			return err
		}
		c.sample("admin_ms", time.Since(began))
		if n == times {
			return nil
		}
		if err := c.crash(); err != nil {
			return err
		}
	}
}

// restart stops the running host, in whatever mode it is, and starts another.
func (c *crashLoop) restart(ctx context.Context) error {
	if c.pid > 0 {
		if err := c.signal(c.pid, syscall.SIGTERM); err != nil {
			return err
		}
	}
	return c.again(ctx, nil)
}
