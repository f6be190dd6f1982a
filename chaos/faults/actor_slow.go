package faults

import (
	"context"
	"time"
)

var actorSlow = Kind{
	Name: "actor.slow", CatalogueIDs: []string{"F07"}, Aim: AtRow, Partial: true,
	Needs:       NeedFaultPoints,
	Description: "an actor takes its time for each message, so that its mailbox fills",
	Params: []Param{
		{Name: "delay", Type: Duration, Default: "10ms", Low: int64(100 * time.Microsecond),
			High: int64(time.Minute), Description: "how much longer each message takes"},
		times("0"), message,
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return atRow(ctx, s, ArmRequest{Action: "slow", Delay: s.Params.Duration("delay")})
	},
}
