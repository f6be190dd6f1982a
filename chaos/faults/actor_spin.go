package faults

import (
	"context"
	"time"
)

// actorSpin is not Fatal: an actor that spins for less than its hard deadline continues unharmed.
var actorSpin = Kind{
	Name: "actor.spin", CatalogueIDs: []string{"F06"}, Aim: AtRow, Partial: true, Contends: true,
	Needs: NeedFaultPoints,
	Description: "an actor computes without end at a message, and so takes a core, until the fault " +
		"ends",
	Params: []Param{
		{Name: "delay", Type: Duration, Default: "1s", Low: int64(time.Millisecond),
			High: int64(time.Hour), Description: "how long it computes at most"},
		times("1"), message,
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return atRow(ctx, s, ArmRequest{Action: "spin", Delay: s.Params.Duration("delay")})
	},
}
