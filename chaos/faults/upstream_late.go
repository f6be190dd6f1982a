package faults

import (
	"context"
	"time"
)

var upstreamLate = Kind{
	Name: "upstream.late", CatalogueIDs: []string{"F30"}, Aim: AtServer, Partial: true,
	Needs:       NeedFaultPoints,
	Description: "messages of a server arrive late, and others before them",
	Params: []Param{
		{Name: "delay", Type: Duration, Default: "65s", Low: int64(time.Millisecond),
			High:        int64(maxLate),
			Description: "how late; beyond the deadline of a call its answer is nobody's"},
		times("0"),
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		return atServer(ctx, s, ArmRequest{
			Action: "late", Place: "upstream.read", Delay: s.Params.Duration("delay"),
		})
	},
}
