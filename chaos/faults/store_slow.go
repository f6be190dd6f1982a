package faults

import (
	"context"
	"time"
)

var storeSlow = Kind{
	Name: "store.slow", Rows: []string{"F52"}, Aim: AtHost, Needs: Faults,
	Is: "the disk is slow: what was written waits to be synced",
	Params: []Param{
		{Name: "delay", Type: Duration, Default: "2s", Low: int64(time.Millisecond), High: int64(maxLate),
			Is: "how much longer each sync takes"},
		times("0"),
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return arm(ctx, s, "store.sync", Order{
			Action: "slow", Place: "store.sync", Delay: s.With.Duration("delay"),
			Count: s.With.Number("count"),
		})
	},
}
