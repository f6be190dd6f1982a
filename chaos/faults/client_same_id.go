package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcpd/internal/load"
)

var clientSameID = Kind{
	Name: "client.same_id", CatalogueIDs: []string{"F46"}, Aim: AtTenant, Quiet: true,
	Description: "calls of one session have all the same id, and are made at the same time",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "8", Low: 2, High: 1000,
			Description: "how many calls at once"},
		{Name: "every", Type: Duration, Default: "100ms", Low: int64(time.Millisecond),
			High: int64(time.Minute), Description: "how often each is made"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		clients := s.Params.Number("clients")
		session, err := s.Client.session(ctx)
		if err != nil {
			return Injected{}, err
		}
		ledger := load.NewLedger(s.Rand.Uint64())
		return inSession(session,
			begin(ctx, s, clients, s.Params.Duration("every"),
				func(ctx context.Context, _ int) (int, error) {
					ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), visitTimeout)
					defer cancel()
					sent := ledger.Issue()
					got, err := session.Call(ctx, sent)
					switch is, doubled := ledger.Settle(sent, got, err); {
					case is == load.Crosstalk || doubled:
						return 1, fmt.Errorf("%w: call %s of id 1 was answered with %q, %v", errViolation,
							sent, got, err)
					case errors.Is(err, load.ErrNoReply):
						return 1, fmt.Errorf("%w: call %s of id 1 has no answer", errViolation, sent)
					case is != load.OK:
						return 0, err // it was refused, or the host is busy
					}
					return 1, nil
				}).injected(fmt.Sprintf("tenant %s, by %d calls at once", s.Tenant, clients))), nil
	},
}
