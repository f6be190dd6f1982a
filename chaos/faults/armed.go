package faults

import (
	"context"
	"time"
)

// lease is how long a fault stays armed after the run that armed it dies. A live run renews it.
const lease = 10 * time.Second

// arm orders a fault from the host's fault registry. The fault strikes until it is disarmed.
func arm(ctx context.Context, s *Site, target string, o ArmRequest) (Injected, error) {
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

// atRow arms a fault that strikes when a row's actor receives a message.
func atRow(ctx context.Context, s *Site, o ArmRequest) (Injected, error) {
	o.Path, o.Kind, o.Count = s.Row, s.Params.Text("message"), s.Params.Number("count")
	if _, ok := s.Params[causedBy.Name]; ok {
		o.Tenant = s.Params.Text(causedBy.Name)
	}
	in, err := arm(ctx, s, s.Row, o)
	if err != nil {
		return in, err
	}
	return withStimuli(ctx, s, in), nil
}

// maxCount bounds the count of strikes that an experiment can ask for. A count of 0 has no bound.
const maxCount = 1_000_000

// message is the parameter of faults that strike where a message is received.
var message = Param{
	Name: "message", Type: Text, High: 128,
	Description: "the Go type of the message that it strikes at, as *request.Call; empty is any",
}

// causedBy is the parameter of faults that strike only at the messages of one tenant, on a row that
// all tenants share.
var causedBy = Param{
	Name: "caused_by", Type: Text, High: 63,
	Description: "the tenant whose messages it strikes at, {target} being the target's; empty is " +
		"everybody's",
}

// times is the parameter that says how often a fault of the host's registry strikes.
func times(def string) Param {
	return Param{
		Name: "count", Type: Number, Default: def, High: maxCount,
		Description: "how often it strikes; 0 is at every message",
	}
}
