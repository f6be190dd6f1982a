package faults

import (
	"context"
	"fmt"
	"strings"
	"time"
)

var clientSlow = Kind{
	Name: "client.slow", CatalogueIDs: []string{"F41"}, Aim: AtTenant, Quiet: true,
	Description: "clients ask for much and read their answers a byte at a time",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "20", Low: 1, High: 10_000,
			Description: "how many at once"},
		{Name: "size", Type: Size, Default: "1MiB", Low: 1, High: 3 << 20,
			Description: "how much each asks for"},
		{Name: "pause", Type: Duration, Default: "1s", Low: int64(time.Millisecond),
			High: int64(time.Minute), Description: "between two bytes"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		text, pause := strings.Repeat("x", int(s.Params.Size("size"))), s.Params.Duration("pause")
		clients := s.Params.Number("clients")
		session, err := s.Client.session(ctx)
		if err != nil {
			return Injected{}, err
		}
		return inSession(session,
			begin(ctx, s, clients, refusedWait, func(ctx context.Context, _ int) (int, error) {
				resp, err := s.Client.call(ctx, session, text)
				if err != nil {
					return 0, err
				}
				defer resp.Body.Close()
				for one := make([]byte, 1); ; {
					if _, err := resp.Body.Read(one); err != nil {
						return 1, nil // the host has closed it, or the answer is complete
					}
					select {
					case <-ctx.Done():
						return 1, nil
					case <-time.After(pause):
					}
				}
			}).injected(fmt.Sprintf("tenant %s, by %d clients", s.Tenant, clients))), nil
	},
}

// refusedWait is how long a slow reader that was refused waits before it asks again. With a shorter
// wait, many readers would become a flood of requests.
const refusedWait = time.Second

// retryWait is how long any other client that was refused or cut off waits before it retries.
const retryWait = 100 * time.Millisecond
