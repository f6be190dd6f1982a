package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/internal/load"
)

var clientCancel = Kind{
	Name: "client.cancel", CatalogueIDs: []string{"F49"}, Aim: AtTenant, Quiet: true,
	Description: "clients cancel their calls before, while and after they are answered",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "10", Low: 1, High: 1000,
			Description: "how many at once"},
		{Name: "every", Type: Duration, Default: "100ms", Low: int64(time.Millisecond),
			High: int64(time.Minute), Description: "how often each makes a call"},
		{Name: "within", Type: Duration, Default: "2ms", Low: int64(time.Microsecond),
			High: int64(time.Second),
			Description: "after the call at the latest, of those that are cancelled meanwhile; when " +
				"exactly is " +
				"drawn"},
		{Name: "era", Type: Text, Default: "legacy", Words: []string{"legacy", "modern"},
			Description: "whether by a notification in a session, or by leaving a request that stands " +
				"alone"},
	},
	Prewarm: func(ctx context.Context, c Client, with Values) error {
		if with.Text("era") != "modern" {
			return nil
		}
		_, err := c.post(ctx, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
			c.statelessHeader(), c.statelessCall("1", "first"))
		return err
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		clients := s.Params.Number("clients")
		session, err := s.Client.session(ctx)
		if err != nil {
			return Injected{}, err
		}
		racers := make([]*racer, clients)
		ids := new(atomic.Int64)
		for i := range racers {
			racers[i] = &racer{
				client: s.Client, session: session,
				http: &http.Client{Transport: &http.Transport{IdleConnTimeout: time.Second}}, ids: ids,
				draw:   rand.New(rand.NewPCG(s.Rand.Uint64(), uint64(i))),
				within: int64(s.Params.Duration("within")),
			}
		}
		modern := s.Params.Text("era") == "modern"
		return inSession(session,
			begin(ctx, s, clients, s.Params.Duration("every"),
				func(ctx context.Context, worker int) (int, error) {
					ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), visitTimeout)
					defer cancel()
					if modern {
						return racers[worker].abandonCall(ctx)
					}
					return racers[worker].notify(ctx)
				}).injected(fmt.Sprintf("tenant %s, by %d clients", s.Tenant, clients))), nil
	},
}

// racer is a client whose cancellations race with the answers.
type racer struct {
	client  Client
	session *load.Session
	http    *http.Client
	ids     *atomic.Int64 // the last id used in the session
	draw    *rand.Rand
	within  int64
}

// soon returns a random delay after which to cancel a call in flight.
func (r *racer) soon() time.Duration { return time.Duration(r.draw.Int64N(r.within)) }

// notify makes one call of the session and cancels it: before it is sent, while it is in flight, or
// after it was answered.
func (r *racer) notify(ctx context.Context) (int, error) {
	id := strconv.FormatInt(r.ids.Add(1), 10)
	cancel := func() error {
		a, err := r.client.post(ctx, r.http, r.session.Headers(),
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`)
		if err == nil && a.status/100 != 2 {
			err = load.StatusError{Status: a.status}
		}
		return err
	}
	var told error
	var meanwhile sync.WaitGroup
	when := r.draw.IntN(3)
	if when == 0 {
		told = cancel()
	}
	if soon := r.soon(); when == 1 {
		meanwhile.Go(func() {
			select {
			case <-time.After(soon):
			case <-ctx.Done():
			}
			told = cancel()
		})
	}
	text := "race-" + id
	a, err := r.client.post(ctx, r.http, r.session.Headers(), r.client.request(id, text, ""))
	if when == 2 {
		told = cancel()
	}
	meanwhile.Wait()
	if err == nil {
		err = told
	}
	return settle(ctx, a, id, text, when == 1, err)
}

// abandonCall sends a stateless request (2026-07-28) and then either disconnects or waits for the
// answer.
func (r *racer) abandonCall(ctx context.Context) (int, error) {
	id := strconv.FormatInt(r.ids.Add(1), 10)
	text := "race-" + id
	waits := r.draw.IntN(2) == 0
	short, cancel := context.WithTimeout(ctx, visitTimeout)
	if !waits {
		short, cancel = context.WithTimeout(ctx, r.soon())
	}
	defer cancel()
	a, err := r.client.post(short, r.http, r.client.statelessHeader(),
		r.client.statelessCall(id, text))
	if !waits && short.Err() != nil {
		return 1, nil
	}
	return settle(ctx, a, id, text, !waits, err)
}

// settle checks the outcome of a call. The call has exactly one answer, its own. A call that may
// have been cancelled in time may have none.
func settle(ctx context.Context, a answer, id, text string, cancelled bool,
	err error) (int, error) {
	mine := a.of(id)
	switch {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("%w: call %s has no outcome within %s", errViolation, id, visitTimeout)
	case err != nil:
		return 0, err
	case a.status/100 != 2:
		return 0, load.StatusError{Status: a.status} // it was refused
	case len(mine) > 1 || len(mine) < len(a.messages):
		return 1, fmt.Errorf("%w: call %s has %d answers of %d messages", errViolation, id, len(mine),
			len(a.messages))
	case len(mine) == 0 && !cancelled:
		return 1, fmt.Errorf("%w: call %s was cancelled by nobody and has no answer", errViolation, id)
	case len(mine) == 1 && mine[0].Error != nil && !cancelled:
		return 0, mine[0].Error
	case len(mine) == 1 && mine[0].Error == nil && mine[0].text() != text:
		return 1, fmt.Errorf("%w: call %s was answered with %q", errViolation, text, mine[0].text())
	}
	return 1, nil
}
