package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"mcpd/internal/load"
)

var clientReturn = Kind{
	Name: "client.return", CatalogueIDs: []string{"F44"}, Aim: AtTenant, Quiet: true, Contends: true,
	Description: "the connections of all clients end at the same moment, and all come back at once, " +
		"each " +
		"with a stream and a call",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "200", Low: 1, High: 10_000, Description: "how many"},
		{Name: "every", Type: Duration, Default: "10s", Low: int64(100 * time.Millisecond),
			High: int64(time.Hour), Description: "how often"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		c := &crowd{client: s.Client, sessions: make([]*load.Session, s.Params.Number("clients"))}
		if err := c.open(ctx); err != nil {
			c.close(ctx)
			return Injected{}, err
		}
		l := begin(ctx, s, 1, s.Params.Duration("every"), func(ctx context.Context, _ int) (int, error) {
			return c.reconnect(context.WithoutCancel(ctx))
		})
		in := l.injected(fmt.Sprintf("tenant %s, by %d clients", s.Tenant, len(c.sessions)))
		in.Heal = func(ctx context.Context) error {
			err := l.heal(ctx)
			c.once.Do(func() { c.close(ctx) })
			return err
		}
		in.Figures = func() map[string][]float64 {
			return map[string][]float64{"return_s": slices.Clone(c.took)}
		}
		return in, nil
	},
}

// crowd is a set of clients that do everything at the same time.
type crowd struct {
	client   Client
	sessions []*load.Session
	once     sync.Once
	// seconds until the last client was served again, one value per return; only the loop's single
	// worker writes it
	took []float64
}

// returnTime bounds one return of all clients, and so how long healing takes.
const returnTime = 10 * time.Second

// handshakes is how many clients connect at once in the beginning. That phase is only preparation
// and is not measured.
const handshakes = 16

func (c *crowd) open(ctx context.Context) error {
	slots, errs := make(chan struct{}, handshakes), make([]error, len(c.sessions))
	var all sync.WaitGroup
	for i := range c.sessions {
		slots <- struct{}{}
		all.Go(func() {
			c.sessions[i], errs[i] = c.client.session(ctx)
			<-slots
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (c *crowd) close(ctx context.Context) {
	for _, session := range c.sessions {
		if session != nil {
			_ = session.Close(ctx) // the host evicts idle sessions anyway
		}
	}
}

// reconnect reconnects all clients and waits until each has its stream and an answer. A client that
// is refused for lack of capacity retries.
func (c *crowd) reconnect(ctx context.Context) (int, error) {
	for _, session := range c.sessions {
		session.CloseIdle()
	}
	ctx, cancel := context.WithTimeout(ctx, returnTime)
	defer cancel()
	begun, errs := time.Now(), make([]error, len(c.sessions))
	var all sync.WaitGroup
	for i, session := range c.sessions {
		all.Go(func() { errs[i] = c.served(ctx, session) })
	}
	all.Wait()
	c.took = append(c.took, time.Since(begun).Seconds())
	if err := errors.Join(errs...); err != nil {
		return 0, fmt.Errorf("%w: of %d clients not all were back within %s: %w", errViolation,
			len(c.sessions), returnTime, first(errs))
	}
	return len(c.sessions), nil
}

func first(errs []error) error {
	return errs[slices.IndexFunc(errs, func(err error) bool { return err != nil })]
}

func (c *crowd) served(ctx context.Context, session *load.Session) error {
	for {
		err := c.visit(ctx, session)
		if err == nil || ctx.Err() != nil || errors.Is(err, errViolation) {
			return err
		}
		if status, ok := errors.AsType[load.StatusError](err); ok &&
			status.Status != http.StatusTooManyRequests && status.Status != http.StatusServiceUnavailable {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryWait):
		}
	}
}

func (c *crowd) visit(ctx context.Context, session *load.Session) error {
	stream, err := session.Listen(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	const text = "back"
	got, err := session.Call(ctx, text)
	if err == nil && got != text {
		err = fmt.Errorf("%w: a call was answered with %q", errViolation, got)
	}
	return err
}
