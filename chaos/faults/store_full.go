package faults

import "context"

var storeFull = Kind{
	Name: "store.full", CatalogueIDs: []string{"F52"}, Aim: AtHost, Needs: NeedFaultPoints,
	Description: "the disk is full: the state cannot be written",
	Params:      []Param{times("0")},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return arm(ctx, s, "store.write", ArmRequest{
			Action: "fail", Place: "store.write", Count: s.Params.Number("count"),
		})
	},
}
