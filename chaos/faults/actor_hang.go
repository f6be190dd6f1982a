package faults

import (
	"context"
	"time"
)

// actorHang is not Fatal: an actor that hangs for less than its hard deadline continues unharmed.
var actorHang = Kind{
	Name: "actor.hang", Rows: []string{"F05"}, Aim: AtRow, Partial: true, Silent: true, Needs: Faults,
	Is: "an actor does not come back from a message, until it is fenced or the fault ends",
	Params: []Param{
		{Name: "delay", Type: Duration, Default: "0s", High: int64(time.Hour),
			Is: "how long it hangs; 0s is until the fault ends"},
		times("1"), message,
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return atRow(ctx, s, Order{Action: "hang", Delay: s.With.Duration("delay")})
	},
}
