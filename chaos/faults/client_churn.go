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
		{Name: "clients", Type: Number, Default: "10", Low: 1, High: 10_000, Is: "how many"},
		{Name: "every", Type: Duration, Default: "100ms", Low: int64(time.Millisecond), High: int64(time.Minute), Is: "how often each comes, one after the other"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		clients, every := s.With.Number("clients"), s.With.Duration("every")
		return beginApart(ctx, s, clients, every, every/time.Duration(clients), func(ctx context.Context, _ int) (int, error) {
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
