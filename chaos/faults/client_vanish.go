package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

var clientVanish = Kind{
	Name: "client.vanish", CatalogueIDs: []string{"F47"}, Aim: AtTenant, Quiet: true,
	Description: "clients are gone before their calls are answered",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "10", Low: 1, High: 10_000,
			Description: "how many at once"},
		{Name: "within", Type: Duration, Default: "2ms", Low: int64(time.Microsecond),
			High: int64(time.Minute), Description: "after the call at the latest; when exactly is drawn"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		clients, within := s.Params.Number("clients"), s.Params.Duration("within")
		draws := make([]*rand.Rand, clients)
		for i := range draws {
			draws[i] = rand.New(rand.NewPCG(s.Rand.Uint64(), uint64(i)))
		}
		session, err := s.Client.session(ctx)
		if err != nil {
			return Injected{}, err
		}
		return inSession(session,
			begin(ctx, s, clients, retryWait, func(ctx context.Context, worker int) (int, error) {
				short, cancel := context.WithTimeout(ctx, time.Duration(draws[worker].Int64N(int64(within))))
				defer cancel()
				resp, err := s.Client.call(short, session, "x")
				if err == nil {
					return 1, resp.Body.Close() // the client leaves without reading the answer
				}
				if short.Err() != nil {
					return 1, nil
				}
				return 0, err
			}).injected(fmt.Sprintf("tenant %s, by %d clients", s.Tenant, clients))), nil
	},
}
