package faults

import "context"

var memoryFill = Kind{
	Name: "memory.fill", CatalogueIDs: []string{"F12"}, Aim: AtHost, Contends: true,
	Needs: NeedFaultPoints,
	Description: "the host has little memory left: so much is taken within it that is let go of at " +
		"the end",
	Params: []Param{{
		Name: "percent", Type: Number, Default: "90", Low: 1, High: 99,
		Description: "how many of a hundred of the memory that it may use are in use: from 70 on " +
			"nothing is " +
			"kept for convenience, from 85 on no session begins, from 95 on no call",
	}},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return arm(ctx, s, "the memory", ArmRequest{
			Action: "fill", Place: "memory", Percent: float64(s.Params.Number("percent")),
		})
	},
}
