package chaos

import (
	"cmp"
	"context"
	"hash/fnv"
	"time"

	"mcpd/internal/clock"
	"mcpd/internal/load"
)

// The shape of the load. It is large enough that a fault meets calls at every stage, and small
// enough to leave a busy machine room for other tests.
const (
	loadSessions = 2
	loadWorkers  = 4
	loadRate     = 400 // calls a second
	// loadTimeout is far below the 60 s that the host gives a call, so that an immediate answer can be
	// told from an answer at the deadline.
	loadTimeout = 15 * time.Second
)

// traffic is load on one tenant. Every call carries a nonce, and every reply must contain it.
type traffic struct {
	a       *arena
	clients []*load.Session
	stop    context.CancelFunc
	result  chan load.Result
}

// load connects to a tenant and makes calls at loadRate until it is stopped. The tool must echo its
// argument "message".
func (a *arena) load(tenant, tool string) *traffic {
	return a.run(tenant, tool, 1_000_000, cmp.Or(a.rate, loadRate))
}

// burst is load with that number of calls, as fast as they are answered.
func (a *arena) burst(tenant, tool string, calls int) *traffic {
	return a.run(tenant, tool, calls, 0)
}

func (a *arena) run(tenant, tool string, calls int, rate float64) *traffic {
	a.t.Helper()
	l := &traffic{a: a, result: make(chan load.Result, 1)}
	var clients []load.Client
	for range loadSessions {
		s, err := load.Connect(a.t.Context(), load.SessionOptions{
			URL: a.url(tenant), Key: key(tenant), Tool: tool, Argument: "message", SameID: true,
		})
		if err != nil {
			a.t.Fatal(err)
		}
		l.clients, clients = append(l.clients, s), append(clients, s)
	}
	run := fnv.New32()
	run.Write([]byte(tenant + tool))
	ctx, stop := context.WithCancel(a.t.Context())
	l.stop = stop
	go func() { // ends when stopped; end waits for it, and the test's context ends it otherwise
		r, err := load.Run(ctx, clients, load.Options{
			Clock: clock.System, Run: uint64(run.Sum32()), Workers: loadWorkers, Rate: rate, Calls: calls,
			For: time.Minute, Timeout: cmp.Or(a.timeout, loadTimeout),
		})
		if err != nil {
			panic(err) // a mistake in the options above
		}
		l.result <- r
	}()
	return l
}

// flows waits until that many more calls were answered.
func (l *traffic) flows(tenant string, calls float64) {
	l.a.t.Helper()
	start := l.a.metric("mcpd_requests_total", `tenant="`+tenant+`"`)
	l.a.eventually("answered to "+tenant, func() bool {
		return l.a.metric("mcpd_requests_total", `tenant="`+tenant+`"`) >= start+calls
	})
}

// end stops issuing calls, waits for calls in flight, and closes the sessions.
func (l *traffic) end() load.Result {
	l.a.t.Helper()
	l.stop()
	r := l.await()
	return r
}

// await waits for the last call and closes the sessions.
func (l *traffic) await() load.Result {
	l.a.t.Helper()
	r := <-l.result
	l.stop()
	for _, c := range l.clients {
		if err := c.Close(context.WithoutCancel(l.a.t.Context())); err != nil {
			l.a.t.Error(err)
		}
	}
	return r
}

// clean checks that every call was answered exactly once with its own reply.
func (a *arena) clean(who string, r load.Result) {
	a.t.Helper()
	if !r.Clean() {
		a.t.Errorf("%s: %+v, errors %v; want every call answered once, with its own reply", who,
			r.Counts, r.Errors)
	}
	if r.Counts.OK == 0 {
		a.t.Errorf("%s: no calls were made", who)
	}
}

// failed checks that exactly that many calls failed, and that none was lost, mixed up or answered
// twice.
func (a *arena) failed(who string, r load.Result, want uint64) {
	a.t.Helper()
	if r.Counts.Failed != want || r.Counts.OK != r.Counts.Sent-want || r.Counts.Duplicate != 0 {
		a.t.Errorf(
			"%s: %+v, errors %v; want %d failed and the others answered once, with their own reply", who,
			r.Counts, r.Errors, want,
		)
	}
}
