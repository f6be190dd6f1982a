package faults

import (
	"context"
	"time"
)

// lease is how long a fault outlives whoever has armed it. The operator renews it meanwhile.
const lease = 10 * time.Second

// arm orders a fault of the host's registry, which strikes until it is disarmed.
func arm(ctx context.Context, s *Site, target string, o Order) (Injected, error) {
	if s.Percent > 0 {
		o.Percent, o.Seed = s.Percent, s.Rand.Uint64()
	}
	o.Lease = lease
	id, err := s.Host.Arm(ctx, o)
	if err != nil {
		return Injected{}, err
	}
	return Injected{
		Target: target,
		Heal:   func(ctx context.Context) error { return s.Host.Disarm(ctx, id) },
		Hits:   func(ctx context.Context) (int, error) { return s.Host.Struck(ctx, id) },
	}, nil
}

// atRow arms a fault where a row receives.
func atRow(ctx context.Context, s *Site, o Order) (Injected, error) {
	o.Path, o.Kind, o.Count = s.Row, s.With.Text("message"), s.With.Number("count")
	if _, ok := s.With[causedBy.Name]; ok {
		o.Tenant = s.With.Text(causedBy.Name)
	}
	in, err := arm(ctx, s, s.Row, o)
	if err != nil {
		return in, err
	}
	return stimulated(ctx, s, in), nil
}

// maxCount bounds what one strike counts up to; as often as it matches is not bounded by it.
const maxCount = 1_000_000

// message is the parameter of faults that strike where a message is received.
var message = Param{Name: "message", Type: Text, High: 128, Is: "the Go type of the message that it strikes at, as *request.Call; empty is any"}

// causedBy is the parameter of faults that strike at the messages of one tenant only, where a row is
// shared by all tenants.
var causedBy = Param{Name: "caused_by", Type: Text, High: 63, Is: "the tenant whose messages it strikes at, {target} being the target's; empty is everybody's"}

// times is the parameter of how often a fault of the registry strikes.
func times(def string) Param {
	return Param{Name: "count", Type: Number, Default: def, High: maxCount, Is: "how often it strikes; 0 is at every message"}
}
