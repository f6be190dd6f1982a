package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/chaos/experiment"
	"mcpd/chaos/faults"
	"mcpd/chaos/record"
	"mcpd/internal/clock"
	"mcpd/internal/load"
)

// traffic is the load on one tenant.
type traffic struct {
	tenant, role string
	rate         float64
	offset       float64 // position among the tenants, from 0 to below 1
	client       faults.Client
	sessions     []*client
	effects      *effectCounter
	listener     *listener
	book         *callCounts
}

// open connects the sessions of a tenant.
func open(ctx context.Context, l experiment.Load, tenant, role, mcp, key string) (*traffic, error) {
	t := &traffic{
		tenant: tenant, role: role, rate: float64(l.Rate),
		client: faults.Client{
			URL: mcp + "/t/" + tenant + "/mcp", Key: key, Tool: l.Tool, Argument: l.Argument,
		},
	}
	if role == record.Target {
		t.rate = float64(l.TargetRate)
	}
	ctx, cancel := context.WithTimeout(ctx, warmTime)
	defer cancel()
	t.effects = &effectCounter{tool: l.Counter, percent: uint64(l.Effects)}
	own, err := connect(ctx, load.SessionOptions{URL: t.client.URL, Key: key, Tool: l.Tool,
		Argument: l.Argument, SameID: true}, l.Sessions+1, t.effects)
	if status, ok := errors.AsType[load.StatusError](err); ok &&
		(status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden) {
		hint := fmt.Sprintf("say with --key %s=@FILE or --key %s=env:NAME which key they have",
			tenant, tenant)
		if key != "" {
			hint = fmt.Sprintf(
				"the key of --key %s is none of the tenant's, or no more: see its auth.keys in the host's "+
					"configuration", tenant,
			)
		}
		err = &refusal{status: status.Status, Error_: "the host refuses its clients", Hint: hint}
	}
	if err != nil {
		return nil, fmt.Errorf("tenant %s: %w", tenant, err)
	}
	t.sessions = own
	t.listener = &listener{client: own[l.Sessions], tool: l.Stepper, rate: float64(l.Streams)}
	return t, nil
}

// clients returns the clients of the timed calls. The last session belongs to the listener.
func (t *traffic) clients() []load.Client {
	list := make([]load.Client, len(t.sessions)-1)
	for i := range list {
		list[i] = t.sessions[i]
	}
	return list
}

// warm makes rounds of calls like those of the run until all calls of a round succeed, or until
// warmTime has passed. A round has the calls of the given number of seconds, but at most warmCalls
// for each session. Meanwhile unused servers are started and lazy allocations are made. In the full
// form, the history of the sessions' last calls also nearly reaches its final size. If all answers
// of a round are permanent errors, for example because the tool does not exist, warm gives up.
func (t *traffic) warm(ctx context.Context, seconds int, l experiment.Load, rng *rand.Rand,
	alive func(context.Context) error, logf func(string, ...any)) error {
	calls := max(len(t.sessions), min(len(t.sessions)*warmCalls, int(t.rate*float64(seconds))))
	return t.warmWith(ctx, t.clients(), calls, l, rng, alive, logf)
}

// warmWith is warm with the given clients and number of calls. The function alive returns an error
// if the host is gone.
func (t *traffic) warmWith(ctx context.Context, clients []load.Client, calls int, l experiment.Load,
	rng *rand.Rand, alive func(context.Context) error, logf func(string, ...any)) error {
	said := false
	var final atomic.Uint64 // calls of a round whose answers will not change
	observe := func(c load.Call) {
		if load.Permanent(c.Err) || c.Outcome == load.Crosstalk {
			final.Add(1)
		}
	}
	for end := time.Now().Add(warmTime); ; {
		r, err := load.Run(ctx, clients, load.Options{
			Clock: clock.System, Run: rng.Uint64(), Workers: t.workers(l.Timeout), Rate: t.rate,
			Calls: calls, For: warmTime, Timeout: l.Timeout, Observe: observe,
		})
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case r.Clean():
			return nil
		case time.Now().After(end), final.Swap(0) == r.Counts.Sent && r.Counts.Sent > 0:
			return fmt.Errorf(
				"tenant %s: calls of %s go wrong although nothing is broken: %s: load.tool has to name one "+
					"that gives back the text of load.argument", t.tenant, t.client.Tool, wrong(r),
			)
		}
		if err := alive(ctx); err != nil {
			return err
		}
		if !said {
			said = true
			logf("tenant %s: calls of %s go wrong as yet, and are tried for %v: %s", t.tenant, t.client.Tool,
				warmTime, wrong(r))
		}
		if err := sleep(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}

// wrong describes the failed calls, the most frequent error first.
func wrong(r load.Result) string {
	const most = 3 // number of texts shown
	list := slices.SortedFunc(maps.Keys(r.Errors), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Errors[b], r.Errors[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, text := range list[:min(len(list), most)] {
		parts = append(parts, fmt.Sprintf("%d times %s", r.Errors[text], text))
	}
	for _, is := range []struct {
		n     uint64
		label string
	}{{r.Counts.Crosstalk, "an answer without the text of the call"},
		{r.Counts.Lost, "no answer in time"}, {r.Counts.Duplicate, "more than one answer"}} {
		if is.n > 0 {
			parts = append(parts, fmt.Sprintf("%d times %s", is.n, is.label))
		}
	}
	return strings.Join(parts, "; ")
}

// workers returns the number of concurrent calls: all calls that are due within the time limit of
// one call, but at least 8 and at most maxWorkers. Calls beyond that wait, and their latencies
// count from the time when they were due.
func (t *traffic) workers(timeout time.Duration) int {
	return min(maxWorkers, max(8, int(t.rate*timeout.Seconds())))
}

// spread gives each tenant its own times for calls, because simultaneous calls of all tenants would
// wait for one another.
func spread(all []*traffic) {
	for i, t := range all {
		t.offset = float64(i) / float64(len(all))
	}
}

// late returns the delay of the tenant's first call at a rate of calls a second.
func (t *traffic) late(rate float64) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Duration(t.offset / rate * float64(time.Second))
}

// run makes the calls of the whole run, and returns when the last of them has its outcome.
func (t *traffic) run(ctx context.Context, l experiment.Load, lasts time.Duration,
	number uint64) error {
	var listening sync.WaitGroup
	defer listening.Wait()
	listening.Go(func() {
		t.listener.listen(ctx, t.book.begun, t.late(t.listener.rate), lasts, l.Timeout+graceTime,
			number+1, t.role == record.Bystander)
	})
	late := t.late(t.rate)
	if err := sleep(ctx, late); err != nil {
		return nil // the run is over, which is no failure of the load
	}
	_, err := load.Run(ctx, t.clients(), load.Options{
		Clock: clock.System, Run: number, Workers: t.workers(l.Timeout), Rate: t.rate,
		Calls: min(load.MaxCalls, int(t.rate*lasts.Seconds())+1), For: lasts - late,
		Timeout: l.Timeout + graceTime, Observe: t.book.observe,
	})
	return err
}

// rest closes idle connections, so that only the holdings of sessions remain.
func (t *traffic) rest() {
	for _, c := range t.sessions {
		c.current().CloseIdle()
	}
}

// reopened returns how many sessions the host has forgotten.
func (t *traffic) reopened() (n int) {
	for _, c := range t.sessions {
		c.mu.Lock()
		n += c.reopened
		c.mu.Unlock()
	}
	return n
}
