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

// Of a call that is listened to. All its steps fit into what a host passes on at once, so that it has to pass on each.
const (
	stepsOfCall = 8
	msOfStep    = 10
)

// listener makes calls of a tenant that are told of their progress, one after the other, beside those that are timed.
type listener struct {
	client *client
	tool   string
	rate   float64 // a second

	mu    sync.Mutex // guards the fields below
	order record.Order
	slips []record.Slip
}

// hears looks whether the tool is there.
func (l *listener) hears(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	ledger := load.NewLedger(0)
	nonce := ledger.Issue()
	heard, got, err := load.NewListener(l.client.current()).Call(ctx, nonce, load.Listening{Tool: l.tool, Steps: 1})
	switch {
	case err != nil:
		l.order.Unheard = fmt.Sprintf("%s tells of no progress: %v", l.tool, err)
	case got != nonce || heard.Events < 2:
		l.order.Unheard = fmt.Sprintf("%s tells of no progress: it answers %.40q at once", l.tool, got)
	}
}

// listen makes calls, the first of them late, until the run is over. Of most it leaves the stream and comes back to it. Where an honest server is sure to be at the other
// end, no step may be missing.
func (l *listener) listen(ctx context.Context, begun time.Time, late, lasts, timeout time.Duration, run uint64, honest bool) {
	if l.rate == 0 || l.order.Unheard != "" {
		return
	}
	draw := rand.New(rand.NewPCG(run, 1))
	ledger := load.NewLedger(run)
	session := l.client.current()
	on := load.NewListener(session)
	for at := begun.Add(late); at.Before(begun.Add(lasts)); {
		if sleep(ctx, time.Until(at)) != nil {
			return
		}
		for at = at.Add(time.Duration(float64(time.Second) / l.rate)); at.Before(time.Now()); { // those that it has no time for are left out
			at = at.Add(time.Duration(float64(time.Second) / l.rate))
		}
		if now := l.client.current(); now != session {
			session, on = now, load.NewListener(now)
		}
		o := load.Listening{Tool: l.tool, Steps: stepsOfCall, MS: msOfStep, Timeout: timeout, Cut: draw.IntN(stepsOfCall)}
		o.Back = draw.IntN(max(1, o.Cut))
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

// book books one call.
func (l *listener) book(at time.Duration, is load.Outcome, heard load.Heard, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slip := func(kind, text string) {
		if len(l.slips) < maxSlips {
			l.slips = append(l.slips, record.Slip{At: at.Seconds(), Kind: kind, Text: text})
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

// into adds the account to that of the tenant's other calls.
func (l *listener) into(g *record.Group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rate > 0 {
		g.Order = &l.order
		g.Slips = append(g.Slips, l.slips...)
	}
}
