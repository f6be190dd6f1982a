package client

import (
	"crypto/sha256"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rewrite"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// MaxQuestions bounds what one server may ask its clients at the same time.
const MaxQuestions = 64

// open is a question of the server that a client is answering.
type open struct {
	id      jsonrpc.ID
	method  string
	session request.Owner
	client  protocol.Version  // of whoever is asked; 0 when that is not known
	call    uint64            // the exchange it belongs to; 0 when none
	bound   bool              // nobody can answer it after the end of that exchange
	drive   *drive            // that asks in the server's name; nil for a request of the server
	number  int               // of the question there
	since   time.Time         // when it was asked; zero for a question of a drive
	same    [sha256.Size]byte // by which other connections know it; zero when they need not
	late    *Answer           // waits until the server can be told it; nil for none
	first   bool              // the server has asked it before a call, which waits for the answer
}

// question passes a request of the server to the client it is meant for, or refuses it here.
func (c *Connection) question(in transport.Inbound) {
	m := in.Message
	if m.Method == "ping" {
		c.reply(m.Method, jsonrpc.Response(m.ID, jsontext.Value("{}")))
		return
	}
	c.asksDuring(c.calls.get(in.Related), m)
	if err := c.mayAsk(m); err != nil {
		c.decline(in, err)
		return
	}
	q := &Question{From: c.p.Self(), Server: c.o.Server, ID: m.ID, Method: m.Method, Params: m.Params}
	to, session, ok := c.address(q, in.Related)
	if !ok {
		if !c.holdQuestion(in) {
			c.unsaid = c.unsaid || m.Method == "roots/list"
			c.decline(in, c.unaddressed())
		}
		return
	}
	if err := c.beyond(session, m.Method, m.Params); err != nil {
		c.refuse(m.ID, m.Method, err)
		return
	}
	if in.Related.IsZero() && q.Exchange != nil {
		c.asksDuring(c.flightOf(q.Exchange.ID), m)
	}
	o := &open{id: m.ID, method: m.Method, session: to, since: c.p.Now()}
	switch {
	case q.Exchange != nil:
		o.call, o.client = q.Exchange.ID, q.Exchange.Version
		o.bound = o.client.Has(protocol.MultiRoundTrip)
	case q.On != nil:
		o.client = q.On.Version
	}
	if err := c.worded(q, o); err != nil {
		c.refuse(m.ID, m.Method, err)
		return
	}
	during := c.flightOf(o.call)
	o.first = !c.given && during == nil
	if o.call == 0 && m.Method == "roots/list" {
		c.rootsOf = session
	}
	c.open[m.ID.Raw()] = o
	if c.remote() && in.Related.IsZero() {
		o.same = sameQuestion(m)
		c.o.Known.ask(o.same, c.p.Now())
	}
	c.elicits(q, o, session)
	switch err := c.p.Send(to, q); {
	case errors.Is(err, otp.ErrOverloaded):
		c.close(m.ID.Raw())
		c.refuse(m.ID, m.Method, protocol.Overloaded("client", time.Second))
	case err != nil:
		c.close(m.ID.Raw())
		c.refuse(m.ID, m.Method, protocol.SessionGone())
	case q.Exchange != nil:
		c.noteAsker(q.Exchange)
		c.spread()
	}
	if during != nil && !c.calls.lengthen(during) { // its answer has come just now
		c.closeQuestionsOf(o.call)
	}
}

// mayAsk holds the server to what was declared to it.
func (c *Connection) mayAsk(m jsonrpc.Message) error {
	if err := c.gate().Check(protocol.Server, m.Method, m.Params); err != nil {
		return err
	}
	if len(c.open) >= MaxQuestions {
		return protocol.Overloaded("client", 0)
	}
	if _, dup := c.open[m.ID.Raw()]; dup {
		return protocol.RequestIDConflict(m.ID)
	}
	return nil
}

// answer passes a client's answer to the server. An answer to a question that is closed is dropped.
func (c *Connection) answer(a *Answer) {
	defer a.kept.Release()
	o, ok := c.open[a.Question.Raw()]
	if !ok {
		return
	}
	if f := c.waitsBeside(o); f != nil {
		o.late = a
		f.x.Answered(c.lateBytes(o.call)) // they count until their call is over
		return
	}
	c.close(a.Question.Raw())
	if o.drive != nil {
		c.replied(o, a)
		return
	}
	if a.Err != nil {
		c.reply(o.method, jsonrpc.Failure(a.Question, a.Err))
		return
	}
	result := a.Result
	if o.client != 0 && protocol.Known(o.method) {
		var err error
		if result, err = rewrite.Answer(o.method, o.client, c.facts.Version, a.Result); err != nil {
			c.refuse(a.Question, o.method, protocol.InternalError(err))
			return
		}
	}
	c.reply(o.method, jsonrpc.Response(a.Question, result))
	c.firstAnswered(o)
}

// worded puts a question into the words of the revision of whoever is asked. What that has no words for is refused.
func (c *Connection) worded(q *Question, o *open) error {
	if o.client == 0 || !protocol.Known(q.Method) {
		return nil
	}
	params, err := rewrite.Question(q.Method, c.facts.Version, o.client, q.Params, "")
	if err != nil {
		return protocol.InvalidParams(err.Error())
	}
	q.Params = params
	return nil
}

// withdrawn handles the server cancelling its own question.
func (c *Connection) withdrawn(m jsonrpc.Message) {
	raw, ok := splice.Get(m.Params, "requestId")
	if !ok {
		return
	}
	c.dropEarly(raw)
	if _, ok := c.open[string(raw)]; ok {
		c.dropQuestion(string(raw))
		return
	}
	id, _ := jsonrpc.ParseID(raw)     // what is no id is nobody's
	if l := c.listens[id]; l != nil { // a subscription that the server ends (2026-07-28 §basic/patterns/cancellation)
		delete(c.asked, id)
		c.listenEnded(l, nil)
	}
}

// dropQuestion tells the session that nobody waits for its answer.
func (c *Connection) dropQuestion(id string) {
	o := c.open[id]
	c.close(id)
	_ = c.p.Send(o.session, &Withdrawn{From: c.p.Self(), Question: o.id, Call: o.call})
}

// dropQuestionsOf ends the questions of a call that its client has withdrawn. The server is told that too: a request has an answer, and one that
// waits for it would wait for ever.
func (c *Connection) dropQuestionsOf(call uint64) {
	c.endQuestions("has been withdrawn", func(o *open) bool { return o.call == call })
}

// closeQuestionsOf ends the questions of a call that the server has answered without waiting for them,
// where the client can answer during that call only. A client with a session answers all the same.
func (c *Connection) closeQuestionsOf(call uint64) {
	c.endQuestions("has ended", func(o *open) bool { return o.call == call && o.bound })
}

// endQuestions ends those that it is the end of, at their client and at the server.
func (c *Connection) endQuestions(how string, of func(*open) bool) {
	for id, o := range order.Of(c.open) {
		if of(o) {
			c.dropQuestion(id)
			c.refuse(o.id, o.method, protocol.InvalidParams("the call during which this was asked "+how))
		}
	}
}

func (c *Connection) refuse(id jsonrpc.ID, method string, err error) {
	c.reply(method, jsonrpc.Failure(id, protocol.Translate(err, c.facts.Version)))
}

// reply answers what the server has asked by that method.
func (c *Connection) reply(method string, m jsonrpc.Message) {
	if errors.Is(c.put(m), transport.ErrSlowConsumer) {
		c.drops.Reply(c.p, c.o.Emit, telemetry.ReplyDropped{Where: c.where(), Method: method, Reason: "queue_full", Count: 1})
	}
}
