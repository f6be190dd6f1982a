package faults

import "context"

var storeReadOnly = Kind{
	Name: "store.read_only", CatalogueIDs: []string{"F52"}, Aim: AtHost, Needs: NeedFaultPoints,
	Description: "the disk is read-only: the state can be neither written nor renamed",
	Params:      []Param{times("0")},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return arm(ctx, s, "store.write", ArmRequest{
			Action: "read_only", Place: "store.write", Count: s.Params.Number("count"),
		})
	},
}
