package faults

import "context"

var resolverMissing = Kind{
	Name: "resolver.missing", CatalogueIDs: []string{"F55"}, Aim: AtServer, Partial: true,
	Needs: NeedFaultPoints,
	Description: "the name of a server behind a URL does not resolve, for whoever needs a new " +
		"connection " +
		"to it; those that there are stay",
	Params: []Param{times("0")},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return atServer(ctx, s, ArmRequest{Action: "fail", Place: "upstream.dial"})
	},
}
