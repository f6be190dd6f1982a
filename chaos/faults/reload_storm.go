package faults

import (
	"context"
	"time"
)

var reloadStorm = Kind{
	Name: "reload.storm", CatalogueIDs: []string{"F59"}, Aim: AtHost,
	Description: "the configuration is read anew all the time",
	Params: []Param{
		{Name: "every", Type: Duration, Default: "500ms", Low: int64(10 * time.Millisecond),
			High: int64(time.Minute), Description: "how often"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return begin(ctx, s, 1, s.Params.Duration("every"),
			func(ctx context.Context, _ int) (int, error) {
				if err := s.Host.Reload(ctx); err != nil {
					return 0, err
				}
				return 1, nil
			}).injected("the configuration"), nil
	},
}
