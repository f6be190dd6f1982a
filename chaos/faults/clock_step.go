package faults

import (
	"context"
	"time"
)

// maxStep is the largest step of a clock: a year.
const maxStep = 366 * 24 * time.Hour

var clockStep = Kind{
	Name: "clock.step", CatalogueIDs: []string{"F54"}, Aim: AtHost, Needs: NeedFaultPoints,
	Description: "the hour is another for the host, as when somebody sets the clock of the machine, " +
		"and " +
		"the right one again at the end",
	Params: []Param{
		{Name: "by", Type: Duration, Default: "1h", Low: int64(-maxStep), High: int64(maxStep),
			Description: "how far it is ahead, in whole seconds; -1h is behind"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		o := ArmRequest{
			Action: "ahead", Place: "hour", Delay: s.Params.Duration("by").Truncate(time.Second),
		}
		if o.Delay < 0 {
			o.Action, o.Delay = "behind", -o.Delay
		}
		return arm(ctx, s, "the hour", o)
	},
}
