package faults

import (
	"context"
	"time"
)

// actorHang is not Fatal: an actor that hangs for less than its hard deadline continues unharmed.
var actorHang = Kind{
	Name: "actor.hang", CatalogueIDs: []string{"F05"}, Aim: AtRow, Partial: true, Silent: true,
	Needs:       NeedFaultPoints,
	Description: "an actor does not come back from a message, until it is fenced or the fault ends",
	Params: []Param{
		{Name: "delay", Type: Duration, Default: "0s", High: int64(time.Hour),
			Description: "how long it hangs; 0s is until the fault ends"},
		times("1"), message,
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return atRow(ctx, s, ArmRequest{Action: "hang", Delay: s.Params.Duration("delay")})
	},
}
