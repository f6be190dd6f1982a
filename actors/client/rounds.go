package client

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/rewrite"
	"mcpd/protocol/rounds"
	"mcpd/supervisor/otp"
)

// mrtrCall is a call of a legacy client whose modern server asks it something. The client is asked
// in requests, and the server is called again with the answers. Package rounds decides what to do
// and when; this performs it.
type mrtrCall struct {
	*rounds.Drive
	f *inflightRequest
	// arguments are the arguments of the call if they are large: rounds.Drive does not have them.
	arguments jsontext.Value
	answers   int        // bytes of the client's answers, which count for its call
	id        jsonrpc.ID // of the call that is at the server; zero while the client is asked
	timer     otp.Timer
}

// driveDue says that something of a drive is due.
type driveDue struct{ exchange uint64 }

// interrupted takes a result that asks the client something, and reports whether it is answered
// here.
func (c *Connection) interrupted(f *inflightRequest, m jsonrpc.Message) bool {
	d := c.mrtrCalls[f.x.ID]
	if d == nil {
		asks := m.Error == nil && c.facts.Version.Has(protocol.MultiRoundTrip) &&
			mrtr.TypeOf(m.Elided()) == mrtr.InputRequired
		if !asks || f.x.Version.Has(protocol.MultiRoundTrip) || !mrtr.MayAsk(f.x.Method) {
			return false
		}
		short, arguments := elideArguments(f.x)
		params, err := rewrite.Request(f.x.Method, f.x.Version, c.facts.Version, short)
		if err != nil { // it was possible when the call was written
			return false
		}
		d = &mrtrCall{f: f, arguments: arguments,
			Drive: rounds.NewDrive(c.p.Now(), params, rounds.Options{
				Server: c.o.Server, Version: c.facts.Version, Client: c.declaredBy(f.x),
				ElicitationID: "mcpd-" + strconv.FormatUint(f.x.ID, 36) + "-",
			})}
		c.mrtrCalls[f.x.ID] = d
		d.Step(c.p.Now(), rounds.Event{Op: rounds.Start}) // the first call is the one that was answered
	}
	d.id = jsonrpc.ID{}
	if m.Error != nil {
		c.drive(d, rounds.Event{Op: rounds.Fail, Err: m.Error})
	} else {
		c.drive(d, rounds.Event{Op: rounds.Result, Result: m.Result})
	}
	return true
}

// drive takes an event and performs its effects.
func (c *Connection) drive(d *mrtrCall, in rounds.Event) {
	x := d.f.x
	for _, e := range d.Step(c.p.Now(), in) {
		switch e.Do {
		case rounds.Call:
			c.callAgain(d, e.Params)
		case rounds.Stop:
			if !d.id.IsZero() {
				c.calls.take(d.id)
				c.send(jsonrpc.Notification("notifications/cancelled",
					cancelled(d.id, "cancelled by the client")))
			}
		case rounds.Ask:
			c.askClient(d, e)
		case rounds.Recall:
			if id := questionID(x, e.Question); c.questions.Get(id.Raw()) != nil {
				c.dropQuestion(id.Raw())
			}
		case rounds.Complete:
			// An empty value becomes an object.
			params, _ := jsonedit.Set(nil, jsonedit.Quote(e.ElicitationID), "elicitationId")
			c.p.Check()
			_ = x.Sink.Send(jsonrpc.Notification("notifications/elicitation/complete", params))
		case rounds.Deliver:
			c.deliver(d, e)
		case rounds.Arm:
			d.timer.Stop()
			d.timer = c.p.After(e.At.Sub(c.p.Now()), driveDue{x.ID})
		}
	}
	if d.Phase() == rounds.Over {
		d.timer.Stop()
		delete(c.mrtrCalls, x.ID)
	}
}

// callAgain calls the server again, under a new id. If that cannot be sent, the call ends.
func (c *Connection) callAgain(d *mrtrCall, params jsontext.Value) {
	x := d.f.x
	id, err := c.fresh()
	if err == nil {
		c.p.Check()
		d.id = id
		c.calls.put(id, d.f)
		err = c.up.Send(c.p.Context(),
			jsonrpc.Request(id, x.Method, restoreArguments(c.addServerMeta(x, id, params), d.arguments)))
		c.watch()
	}
	if err != nil {
		c.calls.take(id)
		_ = c.p.Post(driveFailed{x.ID, c.lostError(x, false, err)})
	}
}

// driveFailed ends a drive that cannot go on. It is a message because a step must not step its own
// drive.
type driveFailed struct {
	exchange uint64
	err      error
}

// questionID returns the id of a question that this connection asks in its server's name.
func questionID(x *request.Exchange, number int) jsonrpc.ID {
	return jsonrpc.StringID("round-" + strconv.FormatUint(x.ID, 10) + "-" + strconv.Itoa(number))
}

// askClient asks the client. A question that its revision has no words for is refused in its place.
func (c *Connection) askClient(d *mrtrCall, e rounds.Effect) {
	x := d.f.x
	q := &Question{
		From: c.p.Self(), Server: c.o.Server, ID: questionID(x, e.Question), Method: e.Method,
		Params: e.Params, Exchange: x,
	}
	params, err := rewrite.Question(e.Method, c.facts.Version, x.Version, e.Params, e.ElicitationID)
	if err == nil {
		q.Params = params
		c.questions.Add(&openQuestion{
			ID: q.ID, Method: e.Method, To: answerer{Owner: x.Owner}, Client: x.Version, Call: x.ID,
			Round: e.Question,
		})
		err = c.p.Send(x.Owner, q)
	}
	if err != nil {
		c.questions.Take(q.ID.Raw())
		_ = c.p.Post(driveRefused{x.ID, e.Question, err})
	}
}

// driveRefused says that the client could not be asked.
type driveRefused struct {
	exchange uint64
	question int
	err      error
}

// replied takes a client's answer to such a question.
func (c *Connection) replied(o *openQuestion, a *Answer) {
	d := c.mrtrCalls[o.Call]
	if a.Err != nil {
		c.drive(d, rounds.Event{Op: rounds.Refuse, Question: o.Round, Err: a.Err})
		return
	}
	result, err := rewrite.Answer(o.Method, o.Client, c.facts.Version, a.Result)
	if err != nil {
		c.drive(d, rounds.Event{Op: rounds.Refuse, Question: o.Round, Err: err})
		return
	}
	d.answers += len(result)
	d.f.x.Answered(d.answers)
	c.drive(d, rounds.Event{Op: rounds.Answer, Question: o.Round, Result: result})
}

// driven passes an event to the drive of a call, if there still is one.
func (c *Connection) driven(exchange uint64, in rounds.Event) {
	if d := c.mrtrCalls[exchange]; d != nil {
		c.drive(d, in)
	}
}

// deliver ends the client's call.
func (c *Connection) deliver(d *mrtrCall, e rounds.Effect) {
	x := d.f.x
	c.settled(x)
	m := jsonrpc.Message{Result: e.Result}
	result, err := jsontext.Value(nil), e.Err
	if err == nil {
		result, err = c.translateAnswer(x, m)
	} else if told, ok := e.Err.(*jsonrpc.Error); ok {
		_, err = c.translateAnswer(x, jsonrpc.Message{Error: told})
	}
	d.f.settle(err)
	complete(x, result, err)
	c.admitQueued()
}
