package server

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/request"
	merge "mcpd/gateway/catalog"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// MaxAsked bounds what the servers of one session may ask its client at the same time: it is a
// person who answers.
const MaxAsked = 64

// parkGrace is how much longer a call is parked than its question is open, so that a question
// nobody answers ends first: its server is told, and can still answer the call.
const parkGrace = time.Second

// asked is a question of a server that the client has not answered.
type asked struct {
	from     otp.Ref    // the connection that asked
	question jsonrpc.ID // the server's own id
	call     uint64     // the exchange that waits meanwhile; 0 when none
	token    jsontext.Value
	timer    otp.Timer
}

type askExpired struct{ id jsonrpc.ID }

// question passes a server's request to the client, under an id of this session, on the stream of
// the call it belongs to.
func (s *Session) question(q *client.Question) {
	if !s.transparent() {
		if !protocol.Known(q.Method) {
			q.Fail(protocol.MethodNotFound(q.Method))
			return
		}
		q.Params = s.addresses().Question(q.Server, q.Method, q.Params)
	}
	if s.modern() {
		s.delegate(q)
		return
	}
	if s.record == nil || len(s.asked) >= MaxAsked {
		q.Fail(protocol.Overloaded("client", 0))
		return
	}
	if err := s.gate().Check(protocol.Server, q.Method, q.Params); err != nil {
		q.Fail(err)
		return
	}
	// The id is no other question's, also not one of this session before a crash: a late answer
	// must not reach somebody else.
	id := jsonrpc.StringID("mcpd-" + jsonrpc.IntID(s.o.NextID.Add(1)).Raw())
	a := &asked{
		from:     q.From,
		question: q.ID,
		timer:    s.p.After(s.o.Tenant().Limits.ParkTime, askExpired{id}),
	}
	params := q.Params
	if a.token, _ = splice.Get(params, "_meta", "progressToken"); len(a.token) > 0 {
		// two servers may have the same
		params = protocol.SetProgressToken(params, jsontext.Value(id.Raw()))
	}
	m := jsonrpc.Request(id, q.Method, params)
	s.p.Check()
	if q.Exchange != nil {
		a.call = q.Exchange.ID
		s.h.Listen(true)
	}
	s.h.Questions().Open(id, s.refusal(id, *a))
	var err error
	switch {
	case q.Exchange != nil:
		if s.p.Send(
			s.o.Requests,
			&request.Park{ID: a.call, For: s.o.Tenant().Limits.ParkTime + parkGrace},
		) != nil {
			a.call = 0
			s.settle(id, a)
			q.Fail(protocol.Overloaded("tenant", time.Second))
			return
		}
		if err = q.Exchange.Sink.Send(m); errors.Is(err, transport.ErrClosed) { // answered meanwhile
			err = s.push(m)
		}
	case q.On != nil && q.On.Sink.Send(m) == nil:
	default:
		err = s.push(m)
	}
	if err != nil {
		s.settle(id, a)
		q.Fail(protocol.SessionGone())
		return
	}
	if s.asked == nil {
		s.asked = map[jsonrpc.ID]*asked{}
	}
	s.asked[id] = a
	if x := q.Exchange; x != nil && x.Settled() { // maybe before anybody wanted to hear of it
		s.outlast(x.ID, x.Failed())
	}
}

// addresses are those of the servers as they were seen last. Without any, each URI is one that
// names its server.
func (s *Session) addresses() *merge.Addresses {
	if s.view != nil {
		return s.view.Addresses
	}
	return &merge.Addresses{}
}

// answered passes the client's answer to the server that asked. Others are dropped: the question is
// closed, or never was.
func (s *Session) answered(m jsonrpc.Message) {
	a, ok := s.asked[m.ID]
	if !ok {
		return
	}
	s.settle(m.ID, a)
	answer := &client.Answer{Question: a.question, Result: m.Result, Err: m.Error, To: a.from}
	answer.Give(s.p, a.from, s.o.Kept)
}

// settle forgets a question. It tells nothing of one that was refused meanwhile, because this
// incarnation hung.
func (s *Session) settle(id jsonrpc.ID, a *asked) {
	delete(s.asked, id)
	a.timer.Stop()
	if s.h.Questions().Close(id) && a.call != 0 {
		s.unpark(a.call)
	}
}

// unpark takes back that a call waits for its user.
func (s *Session) unpark(call uint64) {
	// late: it takes back what was asked for once, and whoever closes a question is the only one
	// to.
	_ = s.o.Requests.Send(request.NewUnpark(s.o.Requests, call))
}

// refusal is what ends a question that its actor has left open.
func (s *Session) refusal(id jsonrpc.ID, a asked) func() {
	return func() {
		s.withdraw(id)
		if a.call != 0 {
			s.unpark(a.call)
		}
		// late: the question has gone with whoever asked it, and takes one answer.
		_ = a.from.Send(
			&client.Answer{
				Question: a.question,
				Err:      protocol.Translate(protocol.SessionGone(), protocol.LatestLegacy),
			},
		)
	}
}

// askExpired answers for a client that did not.
func (s *Session) askExpired(id jsonrpc.ID) {
	a, ok := s.asked[id]
	if !ok {
		return
	}
	s.settle(id, a)
	_ = s.p.Send(a.from, &client.Answer{
		Question: a.question,
		Err:      protocol.Translate(protocol.Timeout(s.o.Tenant().Limits.ParkTime), s.record.Version),
	})
}

// withdrawn tells the client that nobody waits for its answer any more.
func (s *Session) withdrawn(m *client.Withdrawn) {
	if s.modern() {
		s.undelegate(m)
		return
	}
	for id, a := range order.By(s.asked, jsonrpc.ID.Compare) {
		if a.from != m.From || a.question != m.Question {
			continue
		}
		s.settle(id, a)
		s.withdraw(id)
		return
	}
}

// outlast goes on with what was asked during a call that its server has answered without waiting for
// the answer: the client can still give it. After any other end of the call nobody waits for it, and
// the server is told so.
func (s *Session) outlast(call uint64, failed bool) {
	for id, a := range order.By(s.asked, jsonrpc.ID.Compare) {
		if a.call != call {
			continue
		}
		a.call = 0 // it is not on the books of the request manager any more
		if !failed {
			continue
		}
		s.settle(id, a)
		s.withdraw(id)
		over := protocol.InvalidParams("the call during which this was asked has ended")
		_ = s.p.Send(a.from, &client.Answer{
			Question: a.question, Err: protocol.Translate(over, s.record.Version),
		})
	}
}

// withdraw tells the client that a question is no more.
func (s *Session) withdraw(id jsonrpc.ID) {
	// an empty value becomes an object
	params, _ := splice.Set(nil, jsontext.Value(id.Raw()), "requestId")
	// whichever incarnation asked, it asks no more
	_ = s.h.Push(jsonrpc.Notification("notifications/cancelled", params))
}

// answerProgress passes a client's progress on a question to the server that asked it, when the
// server gave the token.
func (s *Session) answerProgress(m jsonrpc.Message) {
	token, _ := splice.Get(m.Params, "progressToken")
	id, err := jsonrpc.ParseID(token)
	if err != nil {
		return
	}
	a, ok := s.asked[id]
	if !ok || len(a.token) == 0 {
		return
	}
	if params, err := splice.Set(m.Params, a.token, "progressToken"); err == nil {
		_ = s.p.Send(a.from, &client.Tell{Method: m.Method, Params: params})
	}
}

// completed tells the client that an elicitation which it was given is complete. A client whose
// requests stand alone has no such news.
func (s *Session) completed(m *client.Completed) {
	const method = "notifications/elicitation/complete"
	if s.record == nil || s.gate().Check(protocol.Server, method, m.Params) != nil {
		return
	}
	_ = s.push(jsonrpc.Notification(method, m.Params))
}
