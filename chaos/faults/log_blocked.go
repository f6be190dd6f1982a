package faults

import "context"

var logBlocked = Kind{
	Name: "log.blocked", CatalogueIDs: []string{"F58"}, Aim: AtHost, Needs: NeedFaultPoints,
	Description: "nobody reads the log, so that not a line more can be written",
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return arm(ctx, s, "log.write", ArmRequest{Action: "hang", Place: "log.write"})
	},
}
