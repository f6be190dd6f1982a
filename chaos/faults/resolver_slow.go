package faults

import (
	"context"
	"time"
)

var resolverSlow = Kind{
	Name: "resolver.slow", CatalogueIDs: []string{"F55"}, Aim: AtServer, Partial: true,
	Needs: NeedFaultPoints,
	Description: "the name of a server behind a URL resolves slowly, for whoever needs a new " +
		"connection to " +
		"it; those that there are stay",
	Params: []Param{
		{Name: "delay", Type: Duration, Default: "2s", Low: int64(time.Millisecond), High: int64(maxLate),
			Description: "how long each name takes"},
		times("0"),
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return atServer(ctx, s, ArmRequest{
			Action: "slow", Place: "upstream.dial", Delay: s.Params.Duration("delay"),
		})
	},
}
