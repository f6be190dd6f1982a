package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"mcpd/internal/load"
)

var clientHalfOpen = Kind{
	Name: "client.half_open", CatalogueIDs: []string{"F42"}, Aim: AtTenant, Quiet: true,
	Description: "clients with a stream are not heard of any more, as when their network is gone; " +
		"it needs " +
		"Linux where it is run, and no other right",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "8", Low: 1, High: 1000,
			Description: "how many at once"},
		{Name: "freed", Type: Duration, Default: "45s", Low: int64(time.Second), High: int64(time.Hour),
			Description: "after which time the host has to have let go of them; they come back then and " +
				"look"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		clients, freed := s.Params.Number("clients"), s.Params.Duration("freed")
		sessions, headers := []*load.Session{}, make([]http.Header, clients)
		var once sync.Once
		ended := func(ctx context.Context) {
			for _, session := range sessions {
				_ = session.Close(ctx) // the host evicts idle sessions anyway
			}
		}
		for i := range headers {
			session, err := s.Client.session(ctx)
			if err != nil {
				ended(ctx)
				return Injected{}, err
			}
			sessions, headers[i] = append(sessions, session), session.Headers()
		}
		// The fault counts as injected only when every stream is open and deaf.
		var deaf sync.WaitGroup
		deaf.Add(clients)
		first := make([]sync.Once, clients)
		l := begin(ctx, s, clients, retryWait, func(ctx context.Context, worker int) (int, error) {
			defer first[worker].Do(deaf.Done)
			conn, err := s.Client.asked(ctx, headers[worker], http.MethodGet, "")
			if err != nil {
				return 0, err
			}
			defer conn.Close()
			// closes with a reset, as a network that is back reports that nobody is here
			_ = conn.SetLinger(0)
			if err := deafen(conn, true); err != nil {
				return 0, err
			}
			first[worker].Do(deaf.Done)
			select {
			case <-ctx.Done():
				return 1, nil
			case <-time.After(freed):
			}
			return 1, stillThere(conn, freed)
		})
		deaf.Wait()
		in := l.injected(fmt.Sprintf("tenant %s, by %d clients", s.Tenant, clients))
		in.Heal = func(ctx context.Context) error {
			err := l.heal(ctx)
			once.Do(func() { ended(ctx) })
			return err
		}
		return in, nil
	},
}

// stillThere makes the connection hear again and finds out whether the host still has it: the
// host's kernel resets a connection that the host has closed.
func stillThere(conn *net.TCPConn, after time.Duration) error {
	if err := deafen(conn, false); err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Now().Add(visitTimeout))
	// The client first reads the data that arrived earlier. After that comes a reset, nothing, or the
	// next keep-alive.
	for buffer := make([]byte, 4<<10); ; {
		if _, err := conn.Write([]byte("\r\n")); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		_, err := conn.Read(buffer)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("%w: the stream of a client that is gone is still there after %s",
				errViolation, after)
		default:
			return nil
		}
	}
}
