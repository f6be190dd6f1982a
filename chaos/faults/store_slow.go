package faults

import (
	"context"
	"time"
)

var storeSlow = Kind{
	Name: "store.slow", CatalogueIDs: []string{"F52"}, Aim: AtHost, Needs: NeedFaultPoints,
	Description: "the disk is slow: what was written waits to be synced",
	Params: []Param{
		{Name: "delay", Type: Duration, Default: "2s", Low: int64(time.Millisecond), High: int64(maxLate),
			Description: "how much longer each sync takes"},
		times("0"),
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return arm(ctx, s, "store.sync", ArmRequest{
			Action: "slow", Place: "store.sync", Delay: s.Params.Duration("delay"),
			Count: s.Params.Number("count"),
		})
	},
}
