package run

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// launcher returns a function that starts the host again, waits until it is alive in any mode, and
// returns its pid. It returns nil if the run cannot start the host.
func (r *run) launcher() func(context.Context) (int, error) {
	if r.Start == nil {
		return nil
	}
	return func(ctx context.Context) (pid int, err error) {
		if err := r.Start(ctx); err != nil {
			return 0, fmt.Errorf("the host was not started again: %w", err)
		}
		if err := r.answers(ctx, "/livez"); err != nil {
			return 0, fmt.Errorf("the host was started again and does not live: %w", err)
		}
		a, err := r.operator.about(ctx)
		if err != nil {
			return 0, err
		}
		s, err := r.operator.scrape(ctx)
		if err == nil {
			r.find(a, s)
		}
		return int(r.pid.Load()), err
	}
}

// starter is like launcher, but also waits until the host is ready.
func (r *run) starter() func(context.Context) error {
	launch := r.launcher()
	if launch == nil {
		return nil
	}
	return func(ctx context.Context) error {
		if _, err := launch(ctx); err != nil {
			return err
		}
		if err := r.answers(ctx, "/readyz"); err != nil {
			return fmt.Errorf("the host was started again and is not ready: %w", err)
		}
		return nil
	}
}

// answers waits until a probe of the host answers with status 200.
func (r *run) answers(ctx context.Context, path string) error {
	for {
		if status, err := r.operator.status(ctx, path); err == nil && status == http.StatusOK {
			return nil
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}
