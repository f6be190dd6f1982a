package faults

import (
	"context"
	"fmt"
	"time"

	"mcpd/internal/load"
)

var clientSessions = Kind{
	Name: "client.sessions", CatalogueIDs: []string{"F68"}, Aim: AtTenant, Quiet: true,
	Description: "clients open sessions and keep them, also beyond what the tenant may have",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "500", Low: 1, High: 10_000,
			Description: "how many clients, each with one session"},
		{Name: "every", Type: Duration, Default: "1s", Low: int64(time.Millisecond),
			High:        int64(time.Minute),
			Description: "how soon a client tries again that was refused, or whose session was ended"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		clients, every := s.Params.Number("clients"), s.Params.Duration("every")
		kept := make([]*load.Session, clients)
		l := beginApart(ctx, s, clients, every, every/time.Duration(clients),
			func(ctx context.Context, worker int) (int, error) {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), visitTimeout)
				defer cancel()
				if c := kept[worker]; c != nil {
					_, err := c.Ask(ctx, "ping", "{}")
					c.CloseIdle()
					if err == nil {
						return 0, nil
					}
				}
				c, err := s.Client.session(ctx)
				if err == nil {
					c.CloseIdle() // the fault keeps sessions, not connections
					kept[worker] = c
				}
				return 1, nil // a session or a refusal: both are expected
			})
		return closing(l.injected(fmt.Sprintf("tenant %s, by %d clients that keep their sessions",
			s.Tenant, clients)), kept), nil
	},
}

// closing makes Heal also close the sessions that a fault has kept, after the fault itself is
// healed.
func closing(in Injected, kept []*load.Session) Injected {
	heal := in.Heal
	in.Heal = func(ctx context.Context) error {
		err := heal(ctx)
		for i, c := range kept {
			if c != nil {
				_ = c.Close(ctx) // the host may have evicted it already
				kept[i] = nil
			}
		}
		return err
	}
	return in
}
