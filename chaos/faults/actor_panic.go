package faults

import "context"

var actorPanic = Kind{
	Name: "actor.panic", CatalogueIDs: []string{"F01", "F03"}, Aim: AtRow, Partial: true, Fatal: true,
	Needs:       NeedFaultPoints,
	Description: "an actor panics at a message, before it handles it",
	Params:      []Param{times("1"), message, causedBy},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return atRow(ctx, s, ArmRequest{Action: "panic"})
	},
}
