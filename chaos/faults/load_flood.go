package faults

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/internal/clock"
	"mcpd/internal/load"
)

var loadFlood = Kind{
	// calls that are served are no event
	Name: "load.flood", CatalogueIDs: []string{"F68"}, Aim: AtTenant, Contends: true, Quiet: true,
	Description: "the clients of a tenant call far more than it may",
	Params: []Param{
		{Name: "rate", Type: Number, Default: "2000", Low: 1, High: 100_000,
			Description: "calls a second, whatever becomes of them"},
		{Name: "sessions", Type: Number, Default: "8", Low: 1, High: 1000,
			Description: "sessions that they come from"},
		{Name: "at_once", Type: Number, Default: "256", Low: 1, High: load.MaxWorkers,
			Description: "calls under way at once"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		f := &flood{}
		for range s.Params.Number("sessions") {
			c, err := s.Client.session(ctx)
			if err != nil {
				f.close(ctx)
				return Injected{}, fmt.Errorf("flood of %s: %w", s.Tenant, err)
			}
			f.sessions = append(f.sessions, c)
		}
		f.begin(ctx, s)
		return Injected{
			Target: fmt.Sprintf("tenant %s, with %d calls a second", s.Tenant, s.Params.Number("rate")),
			Heal:   f.heal,
			Hits:   func(context.Context) (int, error) { return int(f.calls.Load()), nil },
			Figures: func() map[string][]float64 {
				return map[string][]float64{"flood_failed": {float64(f.account.Sent - f.account.OK)}}
			},
		}, nil
	},
}

// floodTimeout is the time limit of one call of a flood. It also bounds how long healing takes,
// which waits for the calls in flight.
const floodTimeout = 5 * time.Second

// flood is a flood of calls that is under way.
type flood struct {
	sessions []*load.Session
	calls    atomic.Int64
	stop     context.CancelFunc
	over     sync.WaitGroup
	account  load.Counts // valid when the flood is over
	once     sync.Once
}

// begin has the calls made until heal, or until twice the fault's duration has passed.
func (f *flood) begin(ctx context.Context, s *Site) {
	clients := make([]load.Client, len(f.sessions))
	for i, c := range f.sessions {
		clients[i] = counted{c, &f.calls}
	}
	o := load.Options{
		Clock: clock.System, Run: s.Rand.Uint64(), Workers: s.Params.Number("at_once"),
		Rate: float64(s.Params.Number("rate")), Calls: load.MaxCalls,
		For: 2 * s.Duration, Timeout: floodTimeout,
	}
	ctx, f.stop = context.WithCancel(context.WithoutCancel(ctx)) // ends by heal, as every fault
	f.over.Go(func() {
		result, _ := load.Run(ctx, clients, o) // the parameters are within its bounds
		f.account = result.Counts
	})
}

func (f *flood) heal(ctx context.Context) error {
	f.stop()
	f.over.Wait()
	f.once.Do(func() { f.close(ctx) })
	return nil
}

func (f *flood) close(ctx context.Context) {
	for _, c := range f.sessions {
		_ = c.Close(ctx) // the host evicts idle sessions anyway
	}
}

// counted is a session whose calls are counted.
type counted struct {
	load.Client
	calls *atomic.Int64
}

// Call implements load.Client.
func (c counted) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
	c.calls.Add(1)
	return c.Client.Call(ctx, nonce)
}
