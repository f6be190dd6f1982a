package faults

import (
	"context"
	"time"
)

// atServer arms a fault at the messages of a server, whatever its transport.
func atServer(ctx context.Context, s *Site, o ArmRequest) (Injected, error) {
	o.Tenant, o.Server, o.Count = s.Tenant, s.Server, s.Params.Number("count")
	target := s.Tenant
	if s.Server != "" {
		target += "/" + s.Server
	}
	return arm(ctx, s, o.Place+" of "+target, o)
}

// read returns a fault that strikes at the messages that a server has sent.
func read(action string) func(context.Context, *Site) (Injected, error) {
	return func(ctx context.Context, s *Site) (Injected, error) {
		return atServer(ctx, s, ArmRequest{Action: action, Place: "upstream.read"})
	}
}

// maxLate is the longest delay of a message and the longest time of a sync.
const maxLate = 10 * time.Minute
