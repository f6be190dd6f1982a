package client

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/quota"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rewrite"
	"mcpd/telemetry"
)

// The client of a call is told of its progress ProgressBurst times in direct succession, and
// ProgressRate times a second beyond that.
const (
	ProgressBurst = 20
	ProgressRate  = 20
)

var progressRate = quota.Rate{Every: time.Second / ProgressRate, Burst: ProgressBurst}

// progressLimiter rate-limits the progress of one call. A report that comes too fast waits, and the
// next one replaces it.
type progressLimiter struct {
	bucket  quota.Bucket
	latest  jsonrpc.Message
	waiting bool
}

// add takes a report. It says whether the report replaces one that waits, or else how long the
// report has to wait; 0 means not at all.
func (r *progressLimiter) add(m jsonrpc.Message, now time.Time) (wait time.Duration,
	superseded bool) {
	superseded, r.latest, r.waiting = r.waiting, m, true
	if !superseded {
		wait = r.bucket.Take(now, progressRate)
	}
	return wait, superseded
}

// take returns the report that waits, if there is one.
func (r *progressLimiter) take() (m jsonrpc.Message, ok bool) {
	m, ok = r.latest, r.waiting
	r.latest, r.waiting = jsonrpc.Message{}, false
	return m, ok
}

// progressDue says that the client of a call may be told of its progress again.
type progressDue struct{ f *inflightRequest }

// progress delivers a report to the call whose token it carries, under the client's own token.
func (c *Connection) progress(m jsonrpc.Message) {
	f := c.byToken(m.Params)
	if f == nil || len(f.x.Token) == 0 {
		c.undelivered(m.Method, "undeclared")
		return
	}
	c.recordActivity(f)
	c.relay(f, m.Params)
}

// relay tells the client of a call how far the call is, under the client's own token. Each attempt
// of a call counts from its own beginning, but to the client they are one call.
func (c *Connection) relay(f *inflightRequest, params jsontext.Value) {
	const method = "notifications/progress"
	x := f.x
	params, ok := x.Progress.Accept(params)
	if !ok {
		c.undelivered(method, "invalid")
		return
	}
	params, err := jsonedit.Set(params, x.Token, "progressToken")
	if err == nil {
		params, err = rewrite.Notification(method, c.facts.Version, x.Version, params)
	}
	if err != nil {
		return
	}
	if f.progress == nil {
		f.progress = new(progressLimiter)
	}
	switch wait, superseded := f.progress.add(jsonrpc.Notification(method, params), c.p.Now()); {
	case superseded:
		c.undelivered(method, "too_fast")
	case wait > 0:
		c.p.After(wait, progressDue{f})
	default:
		c.pass(f)
	}
}

// progressDue tells the client of a call the waiting progress, unless the call has ended meanwhile.
func (c *Connection) progressDue(f *inflightRequest) {
	if f.progress.waiting {
		f.progress.bucket.Take(c.p.Now(), progressRate)
		c.pass(f)
	}
}

// pass sends the waiting progress of a call, and starts the call's time-out anew.
func (c *Connection) pass(f *inflightRequest) {
	c.p.Check()
	f.report()
	f.x.Progressed(c.p.Now())
}

// report sends the waiting progress of a call.
func (f *inflightRequest) report() {
	if f.progress == nil {
		return
	}
	if m, ok := f.progress.take(); ok {
		_ = f.x.Sink.Send(m)
	}
}

// undelivered counts a notification that no client gets.
func (c *Connection) undelivered(method, reason string) {
	c.drops.Drop(c.p, c.o.Emit, telemetry.NotificationDropped{
		Where: c.where(), Method: method, Reason: reason, Count: 1,
	})
}

func (c *Connection) byToken(params jsontext.Value) *inflightRequest {
	token, ok := jsonedit.Get(params, "progressToken")
	if !ok {
		return nil
	}
	id, _ := jsonrpc.NumberID(token) // the tokens that servers get are ids of calls
	return c.calls.get(id)
}
