package faults

import (
	"context"
	"time"
)

var upstreamSlow = Kind{
	Name: "upstream.slow", CatalogueIDs: []string{"F26"}, Aim: AtServer, Partial: true,
	Needs:       NeedFaultPoints,
	Description: "a server is read slowly, so that what it says waits in a row",
	Params: []Param{
		{Name: "delay", Type: Duration, Default: "10ms", Low: int64(time.Millisecond),
			High: int64(maxLate), Description: "how long each message takes"},
		times("0"),
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return atServer(ctx, s, ArmRequest{
			Action: "slow", Place: "upstream.read", Delay: s.Params.Duration("delay"),
		})
	},
}
