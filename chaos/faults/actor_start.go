package faults

import (
	"context"
	"errors"
)

var actorStart = Kind{
	Name: "actor.start", CatalogueIDs: []string{"F02", "F11"}, Aim: AtRow, Needs: NeedFaultPoints,
	Description: "an actor panics, and its next incarnations cannot start",
	Params: []Param{
		{Name: "count", Type: Number, Default: "2", Low: 1, High: maxCount,
			Description: "how many starts fail; more than the budget of restarts ends its supervisor too"},
		message,
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		starts, err := arm(ctx, s, s.Row, ArmRequest{
			Action: "fail", Place: "init", Path: s.Row, Count: s.Params.Number("count"),
		})
		if err != nil {
			return Injected{}, err
		}
		crash, err := arm(ctx, s, s.Row, ArmRequest{
			Action: "panic", Path: s.Row, Kind: s.Params.Text("message"), Count: 1,
		})
		if err != nil {
			return Injected{}, errors.Join(err, starts.Heal(ctx))
		}
		heal := starts.Heal
		starts.Heal = func(ctx context.Context) error { return errors.Join(crash.Heal(ctx), heal(ctx)) }
		return starts, nil
	},
}
