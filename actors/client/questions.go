package client

import (
	"crypto/sha256"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client/internal/questions"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rewrite"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// MaxQuestions bounds the questions of one server that are open at the same time.
const MaxQuestions = questions.Max

// openQuestion is a question of the server that a client is answering.
type openQuestion = questions.Question[answerer]

// answerer is the client that is asked, and an answer of it that the server cannot be given yet.
type answerer struct {
	request.Owner
	late *Answer
}

// question passes a request of the server to the client it is meant for, or refuses it here.
func (c *Connection) question(in transport.Inbound) {
	m := in.Message
	if m.Method == "ping" {
		c.reply(m.Method, jsonrpc.Response(m.ID, jsontext.Value("{}")))
		return
	}
	c.asksDuring(c.calls.get(in.RequestID), m)
	if err := c.mayAsk(m); err != nil {
		c.decline(in, err)
		return
	}
	q := &Question{From: c.p.Self(), Server: c.o.Server, ID: m.ID, Method: m.Method, Params: m.Params}
	to, session, ok := c.addressee(q, in.RequestID)
	if !ok {
		if !c.holdQuestion(in) {
			c.early.Refused(m.Method, false)
			c.decline(in, c.unaddressed())
		}
		return
	}
	if err := c.checkSessionDeclares(session, m.Method, m.Params); err != nil {
		c.refuse(m.ID, m.Method, err)
		return
	}
	if in.RequestID.IsZero() && q.Exchange != nil {
		c.asksDuring(c.inflightOf(q.Exchange.ID), m)
	}
	o := &openQuestion{ID: m.ID, Method: m.Method, To: answerer{Owner: to}, Since: c.p.Now()}
	switch x := q.Exchange; {
	case x != nil:
		o.Call, o.Of, o.Client = x.ID, questions.Caller{Session: x.Session, Asker: asker(x)}, x.Version
		o.OnlyDuringCall = x.Version.Has(protocol.MultiRoundTrip)
	case q.OtherCall != nil:
		o.Client = q.OtherCall.Version
	}
	if err := c.translateQuestion(q, o); err != nil {
		c.refuse(m.ID, m.Method, err)
		return
	}
	during := c.inflightOf(o.Call)
	if during == nil {
		c.early.QuestionPassed(m.ID.Raw())
	}
	if o.Call == 0 {
		c.early.AskedOutside(m.Method, session)
	}
	c.questions.Add(o)
	if c.remote() && in.RequestID.IsZero() {
		o.Same = sameQuestion(m)
		c.o.Known.questionOpened(o.Same, c.p.Now())
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
		c.distribute()
	}
	if during != nil && !c.calls.routeViaActor(during) { // its answer has come just now
		c.closeQuestionsOf(o.Call)
	}
}

// mayAsk checks a question against what was declared to the server, and against the bounds.
func (c *Connection) mayAsk(m jsonrpc.Message) error {
	if err := c.gate().Check(protocol.Server, m.Method, m.Params); err != nil {
		return err
	}
	return c.questions.Room(m.ID)
}

// answer passes a client's answer to the server. An answer to a question that is closed is dropped.
func (c *Connection) answer(a *Answer) {
	defer a.reservation.Release()
	o := c.questions.Get(a.Question.Raw())
	if o == nil {
		return
	}
	if f := c.waitsBeside(o); f != nil {
		o.To.late, o.HeldBytes = a, max(a.size(), 1)
		f.x.Answered(c.questions.LateBytes(o.Call)) // the bytes count until their call is over
		return
	}
	first := c.close(a.Question.Raw())
	if o.Round > 0 {
		c.replied(o, a)
		return
	}
	if a.Err != nil {
		c.reply(o.Method, jsonrpc.Failure(a.Question, a.Err))
		return
	}
	result := a.Result
	if o.Client != 0 && protocol.IsKnownMethod(o.Method) {
		var err error
		if result, err = rewrite.Answer(o.Method, o.Client, c.facts.Version, a.Result); err != nil {
			c.refuse(a.Question, o.Method, protocol.InternalError(err))
			return
		}
	}
	c.reply(o.Method, jsonrpc.Response(a.Question, result))
	if first && c.early.Answered(c.p.Now()) {
		c.p.After(FirstAnswersRest, earlyWaitDue{})
	}
}

// translateQuestion puts a question into the words of the revision of the client that is asked. A
// question that the revision has no words for is refused.
func (c *Connection) translateQuestion(q *Question, o *openQuestion) error {
	if o.Client == 0 || !protocol.IsKnownMethod(q.Method) {
		return nil
	}
	params, err := rewrite.Question(q.Method, c.facts.Version, o.Client, q.Params, "")
	if err != nil {
		return protocol.InvalidParams(err.Error())
	}
	q.Params = params
	return nil
}

// withdrawn handles the server cancelling its own question.
func (c *Connection) withdrawn(m jsonrpc.Message) {
	raw, ok := jsonedit.Get(m.Params, "requestId")
	if !ok {
		return
	}
	c.early.TakeOne(string(raw))
	c.countEarly()
	if c.questions.Get(string(raw)) != nil {
		c.dropQuestion(string(raw))
		return
	}
	id, _ := jsonrpc.ParseID(raw) // an invalid id is nobody's
	// A subscription that the server ends (2026-07-28 §basic/patterns/cancellation).
	if l := c.listens[id]; l != nil {
		delete(c.asked, id)
		c.listenEnded(l, nil)
	}
}

// dropQuestion closes a question, and tells the session that nobody waits for its answer.
func (c *Connection) dropQuestion(id string) {
	o := c.questions.Get(id)
	c.close(id)
	_ = c.p.Send(o.To.Owner, &Withdrawn{From: c.p.Self(), Question: o.ID, Call: o.Call})
}

// close forgets an open question, and reports whether calls may have waited for it. Other
// connections no longer leave the question to this one.
func (c *Connection) close(id string) (first bool) {
	if o := c.questions.Take(id); o != nil && o.Same != ([sha256.Size]byte{}) {
		c.o.Known.questionClosed(o.Same)
	}
	return c.early.QuestionOver(id)
}

// closeAll forgets all open questions.
func (c *Connection) closeAll() {
	for id := range c.questions.All() {
		c.close(id)
	}
}

// dropQuestionsOf ends the questions of a call that its client has withdrawn. The server is told
// too: every request has an answer, and a server that waits for one would wait for ever.
func (c *Connection) dropQuestionsOf(call uint64) {
	c.endQuestions("has been withdrawn", func(o *openQuestion) bool { return o.Call == call })
}

// closeQuestionsOf ends the questions of a call that the server has answered without waiting for
// them, if the client can answer during that call only. A client with a session can still answer.
func (c *Connection) closeQuestionsOf(call uint64) {
	c.endQuestions("has ended", func(o *openQuestion) bool {
		return o.Call == call && o.OnlyDuringCall
	})
}

// endQuestions ends the matching questions, at their client and at the server.
func (c *Connection) endQuestions(how string, of func(*openQuestion) bool) {
	for id, o := range c.questions.All() {
		if of(o) {
			c.dropQuestion(id)
			c.refuse(o.ID, o.Method, protocol.InvalidParams("the call during which this was asked "+how))
		}
	}
}

func (c *Connection) refuse(id jsonrpc.ID, method string, err error) {
	c.reply(method, jsonrpc.Failure(id, protocol.Translate(err, c.facts.Version)))
}

// reply answers a request of the server that had that method.
func (c *Connection) reply(method string, m jsonrpc.Message) {
	if errors.Is(c.put(m), transport.ErrSlowConsumer) {
		c.drops.Reply(c.p, c.o.Emit, telemetry.ReplyDropped{
			Where: c.where(), Method: method, Reason: "queue_full", Count: 1,
		})
	}
}
