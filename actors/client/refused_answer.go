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

// A server may refuse the answer to what it has asked: one without sessions takes each request for
// a client's first, and knows of no question (mcp-go answers 400). It goes on waiting for the
// answer, and its caller would wait with it until the time-out of the call.

// RefusedAnswerWait is how long a call goes on after its server has refused the answer to a
// question, or could not be reached with it. A server that does not need the answer any more,
// because it has stopped waiting for it, answers the call or says something during it meanwhile.
const RefusedAnswerWait = 5 * time.Second

// refusedAnswerDue says that a call may have gone on for that long.
type refusedAnswerDue struct{ id jsonrpc.ID }

// lastQuestion is what a server has asked last during a call. It does not need the answer to what
// it has asked before, or hears that there is none from the answer to this.
type lastQuestion struct {
	id      jsonrpc.ID
	method  string
	refused error     // why the server has not taken the answer; nil unless that is known
	at      time.Time // when that was known, or the server has said something during the call since
	due     otp.Timer // of refusedAnswerDue
}

// stop prevents that the call ends because of it. Nil is no question.
func (q *lastQuestion) stop() {
	if q != nil {
		q.due.Stop()
	}
}

// asksDuring remembers what a server asks during a call.
func (c *Connection) asksDuring(f *flight, m jsonrpc.Message) {
	if f != nil && c.remote() {
		c.calls.lengthen(f)
		f.last.stop()
		f.last = &lastQuestion{id: m.ID, method: m.Method}
	}
}

// answerRefused hears that an answer of ours has not arrived.
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

// showsLife hears that the server says something during a call: on its stream, or by its token. Nil
// is none.
func (c *Connection) showsLife(f *flight) {
	if f != nil && f.last != nil {
		f.last.at = c.p.Now()
	}
}

// endRefused ends a call that waits in vain, here and at the server.
func (c *Connection) endRefused(m refusedAnswerDue) {
	f := c.calls.get(m.id)
	if f == nil {
		return
	}
	if left := f.last.at.Add(RefusedAnswerWait).Sub(c.p.Now()); left > 0 {
		f.last.due = c.p.After(left, m)
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
	c.takeTurns()
}

// refusedAnswerError is what the caller is told. A second call would end as the first.
func (c *Connection) refusedAnswerError(q *lastQuestion) error {
	cause := c.hosted(q.refused)
	e := protocol.UpstreamInvalid(c.o.Server, cause)
	e.Message = "server " + strconv.Quote(c.o.Server) + " asked " + q.method +
		" during the call, and did not take the answer: " + telemetry.Clean(cause.Error(), protocol.MaxDetail)
	return e
}

// Class lets it be heard however full the mailbox is: there is one for each call in flight.
func (refusedAnswerDue) Class() otp.Class { return otp.Owed }
