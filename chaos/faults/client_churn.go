package faults

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// visitTimeout is how long one visit of a client may take. It bounds how long healing takes too.
const visitTimeout = 5 * time.Second

var clientChurn = Kind{
	Name: "client.churn", Rows: []string{"F44"}, Aim: AtTenant,
	Is: "clients come, open a session, list the tools, and are gone, all the time",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "10", Low: 1, High: 10_000, Is: "how many at once"},
		{Name: "every", Type: Duration, Default: "100ms", Low: int64(time.Millisecond), High: int64(time.Minute), Is: "how often each comes"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		clients := s.With.Number("clients")
		return begin(ctx, s, clients, s.With.Duration("every"), func(ctx context.Context, _ int) (int, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), visitTimeout) // what has begun is ended, so that no session is left behind
			defer cancel()
			c, err := s.Client.session(ctx)
			if err != nil {
				return 0, err
			}
			_, err = c.Ask(ctx, "tools/list", "{}")
			return 1, errors.Join(err, c.Close(ctx))
		}).injected(fmt.Sprintf("tenant %s, by %d clients", s.Tenant, clients)), nil
	},
}
