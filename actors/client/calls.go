package client

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/inflight"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rounds"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// inflightRequest is an in-flight request: one call that was handed to the transport.
type inflightRequest struct {
	x    *request.Exchange
	id   jsonrpc.ID      // ours
	at   time.Time       // when it was handed over
	done func(err error) // called once the server has answered; nil for most
	// reports paces what the client is told of the call's progress; nil while the server has reported
	// none.
	progress *progressLimiter
	last     *lastQuestion // the last question asked during the call; nil for most
	viaActor bool          // its answer must pass through the connection: see shortcut
	// beside says that it was written out of turn, beside a call whose user is being asked.
	beside bool
}

// inflightOf returns the in-flight request of an exchange; nil for none.
func (c *Connection) inflightOf(exchange uint64) *inflightRequest { return c.calls.of(exchange) }

// forward takes a call. It writes the call if the connection is ready and it is the call's turn,
// and queues it otherwise.
func (c *Connection) forward(x *request.Exchange) {
	if c.handTool(x) {
		return
	}
	if c.overdue() {
		c.refuseAway(x)
		return
	}
	c.tellRootsOf(x)
	if c.state != Ready || c.closing || c.mustQueue(x) || !c.mayWrite(x) || c.interest.Holds() ||
		c.waitsForEarlyAnswers(x) {
		if c.full() {
			complete(x, nil, protocol.Overloaded("queue of server "+c.o.Server, time.Second))
			return
		}
		c.queue = append(c.queue, x)
		c.boundEarlyWait()
		c.tellStart(x)
		c.o.Waited.Note(len(c.queue))
		c.wake()
		c.distribute()
		return
	}
	c.write(x)
}

// write sends one call under an id of ours.
func (c *Connection) write(x *request.Exchange) {
	if !x.Write() { // the message that withdraws it is on the way
		c.settled(x)
		return
	}
	if c.subscribes(x) {
		return
	}
	if c.noRoom(x) && c.waitForRoom(x) {
		x.Unwrite()
		return
	}
	if x.Method == "resources/subscribe" && c.noAnnouncements {
		complete(x, nil, protocol.CapabilityNotSupported("resources.subscribe"))
		return
	}
	done, written := c.intercept(x)
	if !written {
		return
	}
	id, err := c.fresh()
	var params jsontext.Value
	if err != nil {
		err = c.lostError(x, x.Executed(), err)
	} else {
		params, err = c.translateParams(x, id)
	}
	if err != nil {
		if complete(x, nil, err); done != nil {
			done(err)
		}
		return
	}
	c.noteAsked(x)
	c.written.Add(x)
	c.served.add(x.Principal)
	c.calls.put(id, &inflightRequest{
		x: x, at: c.p.Now(), done: done, beside: !c.mayWrite(x), viaActor: done != nil || !c.plain(x),
	})
	if interactive(x.Method) {
		c.early.CallGiven()
	}
	if err := c.sendOnce(x, jsonrpc.Request(id, x.Method, params)); err != nil {
		c.unsent(id, err)
		return
	}
	if !x.Resent() {
		c.o.Known.retries.Earn()
	}
	c.watch()
}

// unsent settles a call of which no byte was written.
func (c *Connection) unsent(id jsonrpc.ID, err error) {
	f := c.calls.take(id)
	if f == nil { // a server has answered a request that it had not received
		return
	}
	c.written.Remove(f.x)
	f.x.Unwrite()
	f.settle(err)
	if errors.Is(err, transport.ErrClosed) {
		// The end of the transport is on its way; the next incarnation sends the call.
		c.queue = append(c.queue, f.x)
		return
	}
	if errors.Is(err, transport.ErrSlowConsumer) && c.waitForRoom(f.x) {
		return
	}
	c.settled(f.x)
	complete(f.x, nil, protocol.Overloaded("input of server "+c.o.Server, time.Second))
}

// response settles the call, or the request of the host, that m answers. An answer to an id that
// was never issued, or is settled, is dropped and counted.
func (c *Connection) response(m jsonrpc.Message) error {
	if a, ok := c.asked[m.ID]; ok {
		delete(c.asked, m.ID)
		a.timer.Stop()
		if m.Error != nil {
			return a.then(nil, m.Error)
		}
		return a.then(m.Result, nil)
	}
	f := callOfReply(c.calls, m.ID)
	if f == nil || !c.calls.routeViaActor(f) { // it has its answer, perhaps just now
		c.drops.Reply(c.p, c.o.Emit, telemetry.ReplyDropped{
			Where: c.where(), Reason: "unknown", Count: 1,
		})
		return nil
	}
	if c.holdsForIdentityCheck(f, transport.Inbound{Message: m}) || c.retryWithNewSchema(f, m) {
		return nil
	}
	c.calls.take(m.ID)
	if c.interrupted(f, m) {
		return nil
	}
	c.settled(f.x)
	c.closeQuestionsOf(f.x.ID)
	c.needs(m.Elided())
	answer := answerOf(f, m, c.p.Now())
	c.noteMade(f.x, m.Elided())
	answer.Result, answer.Err = c.translateAnswer(f.x, m)
	f.x.Answered(max(len(answer.Result), m.Error.Size()))
	switch {
	case f.done != nil && !c.respond(f.x, answer) && answer.Err == nil:
		f.settle(errLate) // its client was told that the call failed
	case f.done != nil:
		f.settle(answer.Err)
	default:
		f.settle(answer.Err)
		if !c.awaitsLines(m.ID, f, answer) {
			c.respond(f.x, answer)
		}
	}
	c.admitQueued()
	return nil
}

// errLate says that the answer to a call came too late for its client.
var errLate = errors.New("the answer came too late")

// settled forgets a call that has its answer.
func (c *carriedState) settled(x *request.Exchange) { c.written.Remove(x) }

// settle ends a call. Before that, the client gets the progress that still waits.
func (f *inflightRequest) settle(err error) {
	f.report()
	f.last.stop()
	if f.done != nil {
		f.done(err)
	}
}

// failed settles a call that the transport could not carry, while the connection lives on.
func (c *Connection) failed(in transport.Inbound) error {
	id := in.RequestID
	c.closing = c.closing || !in.Written && c.endsWithCall(in.Err)
	if a, ok := c.asked[id]; ok {
		delete(c.asked, id)
		a.timer.Stop()
		if errors.Is(in.Err, streamable.ErrSessionLost) {
			return nil // everything is asked anew with the next session
		}
		if c.obstructed(in) {
			c.dialAgain(in.Err)
			return nil
		}
		if c.unreached(in.Err) {
			attempt := c.attempt
			if err := c.away(in.Err, false); err != nil || attempt != c.attempt {
				return err
			}
		}
		return a.then(nil, in.Err)
	}
	f := c.calls.get(id)
	if f == nil || !c.calls.routeViaActor(f) {
		return nil
	}
	if c.holdsForIdentityCheck(f, in) {
		return nil
	}
	c.calls.take(id)
	c.written.Remove(f.x)
	if !in.Written {
		f.x.Unwrite()
	}
	f.settle(in.Err)
	obstructed, unreached := c.obstructed(in), !in.Written && c.unreached(in.Err)
	if !in.Written && (obstructed || unreached || c.endsWithCall(in.Err)) &&
		!f.x.Resent() && !c.full() {
		f.x.Resend()
		c.queue = append(c.queue, f.x)
		if obstructed {
			c.dialAgain(in.Err)
			return nil
		}
		if unreached {
			return c.away(in.Err, false)
		}
		return nil
	}
	if unreached && !obstructed {
		err := c.away(in.Err, false)
		c.refuseAway(f.x)
		return err
	}
	c.settled(f.x)
	c.closeQuestionsOf(f.x.ID)
	complete(f.x, nil, c.brokenError(f.x, in))
	if obstructed {
		c.dialAgain(in.Err)
		return nil
	}
	c.admitQueued()
	return nil
}

// obstructed reports whether a request has met an obstacle on the way to a server that was in use.
func (c *Connection) obstructed(in transport.Inbound) bool {
	_, obstacle := streamable.ObstacleOf(in.Err)
	return obstacle && !in.Written && c.state == Ready
}

// dialAgain starts over after an obstacle. If the next handshake meets the obstacle too, it is not
// a passing one, and the server is left alone.
func (c *Connection) dialAgain(cause error) {
	c.leave()
	c.renew(cause)
}

// endsWithCall reports whether a call failed because its connection is about to end, so that the
// next incarnation can send it. The transport of a program reports the requests that the program
// had not read. A remote server no longer knows the session.
func (c *Connection) endsWithCall(err error) bool {
	return c.info().PID != 0 || errors.Is(err, streamable.ErrSessionLost)
}

// withdraw forgets a call that has ended without the server, and tells the server.
func (c *Connection) withdraw(m *request.Withdraw) {
	for i, x := range c.queue {
		if x.ID == m.ID {
			c.queue = append(c.queue[:i:i], c.queue[i+1:]...)
			c.settled(x)
			c.dropQuestionsOf(m.ID)
			c.admitQueued()
			return
		}
	}
	if d := c.mrtrCalls[m.ID]; d != nil {
		c.settled(d.f.x)
		d.f.settle(context.Canceled)
		c.withdrew(d.f.x)
		c.drive(d, rounds.Event{Op: rounds.Cancel})
		c.admitQueued()
		return
	}
	if f := c.inflightOf(m.ID); f != nil {
		if c.calls.take(f.id) == nil { // its answer has come just now
			return
		}
		c.settled(f.x)
		f.settle(context.Canceled)
		c.withdrew(f.x)
		c.send(jsonrpc.Notification("notifications/cancelled", cancelled(f.id, m.Reason)))
		// This comes last, so that the server does not go on with the call for want of an answer.
		c.dropQuestionsOf(m.ID)
		c.admitQueued()
		return
	}
	for ref := range c.instances.All() {
		_ = c.p.Send(ref, m)
	}
}

// complete gives a call its outcome, unless it has one: when a connection was replaced because it
// was stuck, the calls that it held have all ended.
func complete(x *request.Exchange, result jsontext.Value, err error) {
	x.Settle(request.Outcome{Result: result, Err: err})
}

// fresh returns the next request id. Near the largest number that peers can hold, the connection
// ends once no call is in flight; its next incarnation starts at 1.
func (c *Connection) fresh() (jsonrpc.ID, error) {
	c.unanswered.Add(1)
	id, level, err := c.ids.Next()
	if level >= inflight.Replace && c.calls.len() == 0 {
		_ = c.p.Post(exhausted{})
	}
	return id, err
}

// send writes a message that is not a call. It is lost if the server does not read; calls are
// refused by then.
func (c *Connection) send(m jsonrpc.Message) { _ = c.put(m) }

func (c *Connection) put(m jsonrpc.Message) error {
	if c.up == nil {
		return nil
	}
	c.p.Check()
	return c.up.Send(c.p.Context(), m)
}

// cancelled returns the params of notifications/cancelled.
func cancelled(id jsonrpc.ID, reason string) jsontext.Value {
	// An empty value becomes an object.
	params, _ := jsonedit.Set(nil, jsontext.Value(id.Raw()), "requestId")
	params, _ = jsonedit.Set(params, jsonedit.Quote(reason), "reason")
	return params
}
