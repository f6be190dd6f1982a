// Package held holds the actor of one call that a legacy server interrupts with a question for its
// client, when the client can be asked only by a result (2026-07-28 §basic/patterns/mrtr). The
// actor keeps the server's question open until the client has come back. Package protocol/held
// makes the decisions; this package executes them.
package held

import (
	"errors"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/gateway/quota"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/held"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/seal"
	"mcpd/supervisor/otp"
)

// Call is the behaviour of tenants/<t>/held_sup/<exchange>/held.
type Call struct {
	otp.Base
	p     *otp.Process
	timer otp.Timer
	over  bool // a crash has dropped its carried state
	*carriedState
}

type expired struct{}

// grace is how much longer the request manager waits than the client may take to come back.
const grace = time.Second

// New makes the actor of a call.
func New(o *Options, a Args) *Call { return &Call{carriedState: newCarriedState(o, a)} }

// errOver is the error for a call that has its outcome, or an actor already.
var errOver = errors.New("the call is over")

// Init takes the call over from its relay, or continues after a crash.
func (c *Call) Init(p *otp.Process) error {
	c.p = p
	if e, ok := p.CarriedState().(*carriedState); ok {
		c.carriedState = e
		return c.resume()
	}
	// Without carried state, everyone who waited got an error when that state was dropped.
	if p.Incarnation() > 1 {
		c.over = true
		return p.Post(expired{})
	}
	x := c.a.Exchange
	out, ok := c.a.Relay.attach(p.Self())
	if !ok {
		return errOver
	}
	c.sinks = 1
	c.open[1] = &clientRequest{out: out, id: x.Downstream, token: x.Token, level: x.Level}
	p.SetCarriedState(c.carriedState)
	c.call = held.New(
		held.Request{Sink: 1, Capabilities: c.a.Capabilities, Progress: len(x.Token) > 0},
		held.Options{Version: x.Version, Method: x.Method, TTL: c.o.Park()},
	)
	return nil
}

// Receive handles one message.
func (c *Call) Receive(_ *otp.Process, msg any) error {
	if c.over {
		return otp.Normal
	}
	switch m := msg.(type) {
	case *client.Question:
		if full := c.o.Kept.CheckKeep(len(m.Params)); full != nil {
			m.Fail(full.ClientError())
			return nil
		}
		c.put(m)
		return c.step(held.Event{Op: held.Ask, ID: m.ID, Method: m.Method, Params: m.Params})
	case *client.Withdrawn:
		c.close(m.Question)
		return c.step(held.Event{Op: held.Withdraw, ID: m.Question})
	case *relayed:
		return c.relayed(m.m)
	case *finished:
		return c.finished(m)
	case *Retry:
		return c.retry(m)
	case *Gone:
		for sink, o := range c.open {
			if o.out == m.Out {
				return c.left(sink)
			}
		}
	case expired:
		return c.step(held.Event{Op: held.Expire})
	}
	return nil
}

// relayed handles a notification of the server during the call. Log lines go to the open request,
// if it wants them, and to no other.
func (c *Call) relayed(m jsonrpc.Message) error {
	if m.Method == "notifications/progress" {
		return c.step(held.Event{Op: held.Progress, Params: m.Params})
	}
	level, _ := jsonedit.GetString(m.Params, "level")
	for _, o := range sortedmap.Sorted(c.open) {
		if protocol.AtLeast(level, o.level) {
			_ = o.out.Send(m)
		}
	}
	return nil
}

// finished handles the outcome of the call. An empty outcome is that of a call whose client left
// before the actor could be told.
func (c *Call) finished(m *finished) error {
	in := held.Event{Op: held.Finish}
	switch {
	case m.lost != nil:
		in.Err = protocol.LostInCrash(c.a.Exchange.Server, m.lost)
	case m.m.Error != nil:
		in.Err = m.m.Error
	case m.m.Result != nil:
		in.Result = m.m.Result
		if c.call.Phase() == held.Published { // otherwise it is delivered, and not kept
			if full := c.o.Kept.CheckKeep(len(in.Result)); full != nil {
				in.Result, in.Err = nil, unkept(full, c.a.Exchange.Server)
			}
		}
	default:
		for sink := range sortedmap.Sorted(c.open) {
			return c.left(sink)
		}
		return c.step(held.Event{Op: held.Abort})
	}
	return c.step(in)
}

// unkept is the outcome of a call whose result could not be kept for its client.
func unkept(full *quota.Refusal, server string) error {
	err := full.ClientError()
	err.Message = "the server has answered, and there was no room to keep its result: " + err.Message
	return err.WithoutAnswer(server, true)
}

// left cancels the call: the client of its open request has left.
func (c *Call) left(sink held.RequestNumber) error {
	c.finish(sink, nil, nil)
	return c.step(held.Event{Op: held.Cancel, Request: held.Request{Sink: sink}})
}

// retry handles the return of the client. The request manager's time-out runs again from here.
func (c *Call) retry(m *Retry) error {
	c.sinks++
	sink, d := c.sinks, m.Deliver
	token, asks := protocol.ProgressToken(d.Message.Params)
	token = token.Clone() // the request would keep all its bytes in memory
	level, _ := jsonedit.GetString(d.Message.Params, "_meta", protocol.MetaLogLevel)
	c.mu.Lock()
	c.open[sink] = &clientRequest{
		out: d.Out, id: d.Message.ID, token: token, level: level, calls: m.Calls,
	}
	c.mu.Unlock()
	m.taken = true
	err := c.step(held.Event{
		Op: held.Retry, Round: m.Round, Answers: m.Answers,
		Request: held.Request{Sink: sink, Capabilities: m.Capabilities, Progress: asks},
	})
	if c.open[sink] != nil { // it was accepted, and nothing else is asked yet
		c.unpark()
	}
	return err
}

// park tells the request manager that the call waits for its user, for d from now on.
func (c *Call) park(d time.Duration) {
	c.unpark() // parks are counted
	c.parks = c.p.Send(c.o.Requests,
		&request.ExtendDeadline{ID: c.a.Exchange.ID, For: d + grace}) == nil
}

func (c *Call) unpark() {
	if c.parks {
		c.parks = false
		_ = c.p.Send(c.o.Requests, request.NewRestoreDeadline(c.o.Requests, c.a.Exchange.ID))
	}
}

// step passes an event to the state machine and performs the effects.
func (c *Call) step(in held.Event) error {
	err := c.perform(c.call.Step(c.p.Now(), in))
	c.count()
	return err
}

// Terminate cleans up when the call is over. A server that has answered the call may have left its
// questions open, so they are closed. After any other end the next incarnation does this, or
// Abandon.
func (c *Call) Terminate(p *otp.Process, reason error) {
	c.mu.Lock()
	settled := len(c.open) == 0
	c.mu.Unlock()
	if reason != otp.Normal || !settled {
		return
	}
	p.SetCarriedState(nil)
	c.end()
}

func (c *Call) perform(effects []held.Effect) error {
	// Effects may follow Forget: a client that comes back just when the time is up is refused after
	// it.
	var over error
	for _, e := range effects {
		switch e.Do {
		case held.Publish:
			c.publish(e)
		case held.Deliver, held.Refuse:
			c.finish(e.Sink, e.Result, e.Err)
		case held.Relay:
			if o := c.open[e.Sink]; o != nil {
				if params, err := jsonedit.Set(e.Params, o.token, "progressToken"); err == nil {
					_ = o.out.Send(jsonrpc.Notification("notifications/progress", params))
				}
			}
		case held.Answer:
			if q := c.close(e.ID); q != nil {
				(&client.Answer{Question: e.ID, Result: e.Result}).SendTo(c.p, q.From, c.o.Kept)
			}
		case held.Reject:
			if q := c.close(e.ID); q != nil {
				q.Fail(e.Err)
			}
		case held.SendProgress:
			for _, q := range sortedmap.SortedBy(c.questions, jsonrpc.ID.Compare) {
				_ = c.p.Send(q.From, &client.ClientNotification{
					Method: "notifications/progress", Params: e.Params,
				})
				break // all are of one server, which knows its tokens
			}
		case held.Recall:
			_ = c.p.Send(c.o.Requests, request.NewCancel(c.o.Requests, c.a.Exchange.ID))
		case held.Arm:
			c.timer.Stop()
			c.timer = c.p.After(e.At.Sub(c.p.Now()), expired{})
		case held.Forget:
			over = otp.Normal
		}
	}
	return over
}

// publish answers the open request with the questions for the client, under a state that is valid
// only for this call and round.
func (c *Call) publish(e held.Effect) {
	token, err := c.o.Ring.Seal(c.a.Relay.binding(), seal.State{
		Kind: seal.Held, Instance: c.o.Instance, Handle: handle(c.a.Exchange.ID), Round: e.Round,
		Expiry: e.At,
	})
	if err != nil {
		c.finish(e.Sink, nil, protocol.InternalError(err))
		return
	}
	c.park(e.At.Sub(c.p.Now()))
	c.finish(e.Sink, mrtr.Required{Inputs: e.Inputs, State: jsonedit.Quote(token)}.Result(), nil)
}
