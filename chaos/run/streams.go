package run

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"mcpd/chaos/record"
	"mcpd/internal/load"
)

// Parameters of a call with a stream. All its steps fit into the number of messages that a host
// relays at once, so that it has to relay each of them.
const (
	stepsOfCall = 8
	msOfStep    = 10
)

// listener makes calls of a tenant with progress notifications, one after the other, besides the
// calls that are timed.
type listener struct {
	client *client
	tool   string
	rate   float64 // a second

	mu    sync.Mutex // guards the fields below
	order record.StreamCalls
	slips []record.Violation
}

// checkTool checks whether the tool sends progress notifications.
func (l *listener) checkTool(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	ledger := load.NewLedger(0)
	nonce := ledger.Issue()
	heard, got, err := load.NewListener(l.client.current()).Call(ctx, nonce, load.ListenOptions{
		Tool: l.tool, Steps: 1,
	})
	switch {
	case err != nil:
		l.order.Unavailable = fmt.Sprintf("%s tells of no progress: %v", l.tool, err)
	case got != nonce || heard.Events < 2:
		l.order.Unavailable = fmt.Sprintf("%s tells of no progress: it answers %.40q at once",
			l.tool, got)
	}
}

// listen makes calls until the run is over; the first is delayed by late. In most calls it leaves
// the stream and resumes it. With honest set the server is known to behave correctly, so that a
// missing step is an error.
func (l *listener) listen(ctx context.Context, begun time.Time, late, lasts, timeout time.Duration,
	run uint64, honest bool) {
	if l.rate == 0 || l.order.Unavailable != "" {
		return
	}
	rng := rand.New(rand.NewPCG(run, 1))
	ledger := load.NewLedger(run)
	session := l.client.current()
	on := load.NewListener(session)
	for at := begun.Add(late); at.Before(begun.Add(lasts)); {
		if sleep(ctx, time.Until(at)) != nil {
			return
		}
		// calls that are too late are skipped
		for at = at.Add(time.Duration(float64(time.Second) / l.rate)); at.Before(time.Now()); {
			at = at.Add(time.Duration(float64(time.Second) / l.rate))
		}
		if now := l.client.current(); now != session {
			session, on = now, load.NewListener(now)
		}
		o := load.ListenOptions{
			Tool: l.tool, Steps: stepsOfCall, MS: msOfStep, Timeout: timeout, Cut: rng.IntN(stepsOfCall),
		}
		o.Back = rng.IntN(max(1, o.Cut))
		due, nonce := time.Now(), ledger.Issue()
		heard, got, err := on.Call(context.WithoutCancel(ctx), nonce, o)
		again, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		l.client.after(again, session, err)
		cancel()
		is, _ := ledger.Settle(nonce, got, err)
		if honest {
			heard.Slips = append(heard.Slips, heard.Gaps...)
		}
		l.book(due.Sub(begun), is, heard, err)
	}
}

// book records one call.
func (l *listener) book(at time.Duration, is load.Outcome, heard load.StreamReport, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slip := func(kind, text string) {
		if len(l.slips) < maxSlips {
			l.slips = append(l.slips, record.Violation{At: at.Seconds(), Kind: kind, Text: text})
		}
	}
	o := &l.order
	o.Calls++
	o.Events += heard.Events
	o.Resumed += heard.Resumed
	o.Refused += heard.Refused
	o.Replayed += heard.Replayed
	o.Slips += uint64(len(heard.Slips))
	for _, s := range heard.Slips {
		slip("order", s)
	}
	switch is {
	case load.OK:
		o.OK++
	case load.Failed:
		o.Failed++
		o.Error = text(err)
	case load.Lost:
		o.Lost++
		slip("lost", text(err))
	case load.Crosstalk:
		o.Crossed++
		slip("crossed", text(err))
	}
}

// addTo adds the counts to the group of the tenant's other calls.
func (l *listener) addTo(g *record.Group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rate > 0 {
		g.Streams = &l.order
		g.Violations = append(g.Violations, l.slips...)
	}
}
