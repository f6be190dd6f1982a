package faults

import (
	"context"
	"fmt"
	"io"
	"sync"
)

var feedSlow = Kind{
	Name: "feed.slow", CatalogueIDs: []string{"F58"}, Aim: AtHost, Quiet: true,
	Description: "watchers of the host's events, of its tree and of its metrics do not read what " +
		"they have " +
		"asked for",
	Params: []Param{
		{Name: "watchers", Type: Number, Default: "12", Low: 1, High: 16,
			Description: "how many; the host has room for 16 that watch for longer"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		asks := []string{"/admin/v1/events?watch=1", "/admin/v1/tree?watch=1&all=1", "/metrics"}
		f := &unread{}
		ctx, f.stop = context.WithCancel(context.WithoutCancel(ctx)) // ends by Heal, as every fault
		for n := range s.Params.Number("watchers") {
			body, err := s.Host.Open(ctx, asks[n%len(asks)])
			if err != nil {
				return Injected{}, fmt.Errorf("%s: %w; %w", asks[n%len(asks)], err, f.heal(ctx))
			}
			f.bodies = append(f.bodies, body)
		}
		in := done(fmt.Sprintf("the admin listener, with %d watchers that do not read", len(f.bodies)))
		in.Heal = f.heal
		in.Hits = func(context.Context) (int, error) { return len(f.bodies), nil }
		return in, nil
	},
}

// unread holds responses that nobody reads.
type unread struct {
	stop   context.CancelFunc
	once   sync.Once
	bodies []io.ReadCloser
}

func (f *unread) heal(context.Context) error {
	f.once.Do(func() {
		f.stop()
		for _, b := range f.bodies {
			_ = b.Close() // the body was never to be read
		}
	})
	return nil
}
