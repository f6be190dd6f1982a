package faults

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// visitTimeout is the limit for one visit of a client. It also bounds how long healing takes.
const visitTimeout = 5 * time.Second

var clientChurn = Kind{
	Name: "client.churn", CatalogueIDs: []string{"F44"}, Aim: AtTenant, Quiet: true,
	Description: "clients come, open a session, list the tools, and are gone, all the time",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "10", Low: 1, High: 10_000, Description: "how many"},
		{Name: "every", Type: Duration, Default: "100ms", Low: int64(time.Millisecond),
			High: int64(time.Minute), Description: "how often each comes, one after the other"},
		{Name: "served", Type: Text, Default: "any", Words: []string{"any", "all"},
			Description: "how many have to be given what they ask for; with all it is the host's mistake " +
				"when one " +
				"is refused"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		clients, every, all := s.Params.Number("clients"), s.Params.Duration("every"),
			s.Params.Text("served") == "all"
		return beginApart(ctx, s, clients, every, every/time.Duration(clients),
			func(ctx context.Context, _ int) (int, error) {
				// a visit that has begun is completed, so that no session stays behind
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), visitTimeout)
				defer cancel()
				c, err := s.Client.session(ctx)
				if err != nil {
					return 0, violationIf(all, err)
				}
				_, err = c.Ask(ctx, "tools/list", "{}")
				return 1, errors.Join(violationIf(all, err), c.Close(context.WithoutCancel(ctx)))
			}).injected(fmt.Sprintf("tenant %s, by %d clients", s.Tenant, clients)), nil
	},
}

// violationIf marks a refusal as the host's mistake if all clients have to be served.
func violationIf(all bool, err error) error {
	if all && err != nil {
		return fmt.Errorf("%w to refuse a client: %w", errViolation, err)
	}
	return err
}
