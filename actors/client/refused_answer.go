package client

import (
	"errors"
	"strconv"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport/streamable"
)

// A server may refuse the answer to its own question. A server without sessions takes each request
// for a client's first, and knows of no question (mcp-go answers 400). It goes on waiting for the
// answer, and its caller would wait with it until the call times out.

// RefusedAnswerWait is how long a call goes on after its server has refused the answer to a
// question, or could not be reached with it. A server that no longer waits for the answer answers
// the call, or says something during it, in that time.
const RefusedAnswerWait = 5 * time.Second

// refusedAnswerDue says that a call may have gone on for that long.
type refusedAnswerDue struct{ id jsonrpc.ID }

// lastQuestion is the last question that a server has asked during a call. The server no longer
// needs the answers to its earlier questions, or learns from the answer to this one that there are
// none.
type lastQuestion struct {
	id      jsonrpc.ID
	method  string
	refused error // why the server has refused the answer; nil unless that is known
	// at is when that was known, or when the server last said something during the call after that.
	at  time.Time
	due otp.Timer // timer of refusedAnswerDue
}

// stop keeps the question from ending the call. The question may be nil.
func (q *lastQuestion) stop() {
	if q != nil {
		q.due.Stop()
	}
}

// asksDuring remembers a question that a server asks during a call.
func (c *Connection) asksDuring(f *inflightRequest, m jsonrpc.Message) {
	if f != nil && c.remote() {
		c.calls.routeViaActor(f)
		f.last.stop()
		f.last = &lastQuestion{id: m.ID, method: m.Method}
	}
}

// answerRefused handles an answer of ours that has not arrived.
func (c *Connection) answerRefused(u streamable.Undelivered) {
	if u.ID.IsZero() || u.Written || errors.Is(u.Err, streamable.ErrSessionLost) {
		return
	}
	for id, f := range c.calls.all() {
		open, last := c.questions.Get(u.ID.Raw()), f.last
		if last == nil || last.id != u.ID || last.refused != nil || open != nil && open.Call == f.x.ID {
			continue
		}
		last.refused, last.at = u.Err, c.p.Now()
		last.due = c.p.After(RefusedAnswerWait, refusedAnswerDue{id})
		c.drops.Reply(c.p, c.o.Emit, telemetry.ReplyDropped{
			Where: c.where(), Method: last.method, Reason: "refused", Count: 1,
		})
		return
	}
}

// recordActivity records that the server says something during a call: on its stream, or by its
// token. The call may be nil.
func (c *Connection) recordActivity(f *inflightRequest) {
	if f != nil && f.last != nil {
		f.last.at = c.p.Now()
	}
}

// endRefused ends a call that waits in vain, here and at the server. It waits longer for a server
// that has said something during the call.
func (c *Connection) endRefused(m refusedAnswerDue) {
	f := c.calls.get(m.id)
	if f == nil {
		return
	}
	if remaining := f.last.at.Add(RefusedAnswerWait).Sub(c.p.Now()); remaining > 0 {
		f.last.due = c.p.After(remaining, m)
		return
	}
	err := c.refusedAnswerError(f.last)
	c.calls.take(m.id)
	c.settled(f.x)
	f.settle(err)
	c.withdrew(f.x)
	why := cancelled(m.id, "the answer to its question was refused")
	c.send(jsonrpc.Notification("notifications/cancelled", why))
	c.dropQuestionsOf(f.x.ID)
	complete(f.x, nil, err)
	c.admitQueued()
}

// refusedAnswerError returns the error for the caller. A second call would end in the same way.
func (c *Connection) refusedAnswerError(q *lastQuestion) error {
	cause := c.hosted(q.refused)
	e := protocol.UpstreamInvalid(c.o.Server, cause)
	e.Message = "server " + strconv.Quote(c.o.Server) + " asked " + q.method +
		" during the call, and did not take the answer: " +
		telemetry.Clean(cause.Error(), protocol.MaxDetail)
	return e
}

// Class returns otp.Reserved (reserved), so a full mailbox does not refuse the message: there is
// one for each call in flight.
func (refusedAnswerDue) Class() otp.Class { return otp.Reserved }
