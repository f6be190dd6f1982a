package server

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/request"
	merge "mcpd/gateway/catalog"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// MaxOpenQuestions bounds the open questions of servers to one client. A person may have to answer
// them.
const MaxOpenQuestions = 64

// questionMargin is how much longer the call's deadline is extended than its question is open. So
// an unanswered question ends first, and its server is told and can still answer the call.
const questionMargin = time.Second

// openQuestion is a question of a server that the client has not answered.
type openQuestion struct {
	from     otp.Ref    // connection that asked
	question jsonrpc.ID // server's own id
	call     uint64     // exchange that waits for the answer; 0 for none
	token    jsontext.Value
	timer    otp.Timer
}

type askExpired struct{ id jsonrpc.ID }

// question passes a server's request to the client, under an id of this session. It is sent on the
// stream of the call to which it belongs.
func (s *Session) question(q *client.Question) {
	if !s.singleServer() {
		if !protocol.IsKnownMethod(q.Method) {
			q.Fail(protocol.MethodNotFound(q.Method))
			return
		}
		q.Params = s.router().Question(q.Server, q.Method, q.Params)
	}
	if s.modern() {
		s.holdQuestion(q)
		return
	}
	if s.record == nil || len(s.asked) >= MaxOpenQuestions {
		q.Fail(protocol.Overloaded("client", 0))
		return
	}
	if err := s.gate().Check(protocol.Server, q.Method, q.Params); err != nil {
		q.Fail(err)
		return
	}
	// The id must differ from that of every other question, also of this session before a crash.
	// Otherwise a late answer could reach the wrong server.
	id := jsonrpc.StringID("mcpd-" + jsonrpc.IntID(s.options.NextID.Add(1)).Raw())
	a := &openQuestion{
		from:     q.From,
		question: q.ID,
		timer:    s.p.After(s.options.Tenant().Limits.InputTimeout, askExpired{id}),
	}
	params := q.Params
	if a.token, _ = jsonedit.Get(params, "_meta", "progressToken"); len(a.token) > 0 {
		// two servers may use the same token
		params = protocol.SetProgressToken(params, jsontext.Value(id.Raw()))
	}
	m := jsonrpc.Request(id, q.Method, params)
	s.p.Check()
	if q.Exchange != nil {
		a.call = q.Exchange.ID
		s.handle.ReportCallEnds(true)
	}
	s.handle.Questions().Open(id, s.refusal(id, *a))
	var err error
	switch {
	case q.Exchange != nil:
		if s.p.Send(
			s.options.Requests,
			&request.ExtendDeadline{
				ID: a.call, For: s.options.Tenant().Limits.InputTimeout + questionMargin,
			},
		) != nil {
			a.call = 0
			s.closeQuestion(id, a)
			q.Fail(protocol.Overloaded("tenant", time.Second))
			return
		}
		// If the call was answered meanwhile, the question needs no stream of a call.
		if err = q.Exchange.Sink.Send(m); errors.Is(err, transport.ErrClosed) {
			err = s.push(m)
		}
	case q.OtherCall != nil && q.OtherCall.Sink.Send(m) == nil:
	default:
		err = s.push(m)
	}
	if err != nil {
		s.closeQuestion(id, a)
		q.Fail(protocol.SessionGone())
		return
	}
	if s.asked == nil {
		s.asked = map[jsonrpc.ID]*openQuestion{}
	}
	s.asked[id] = a
	// the end may have come before the actor listened for it
	if x := q.Exchange; x != nil && x.Settled() {
		s.callEnded(x.ID, x.Failed())
	}
}

// router are the names and URIs of the servers as last seen. Without a view, each URI contains
// the name of its server.
func (s *Session) router() *merge.Router {
	if s.view != nil {
		return s.view.Router
	}
	return &merge.Router{}
}

// answered passes the client's answer to the server that asked. Answers to closed or unknown
// questions are dropped.
func (s *Session) answered(m jsonrpc.Message) {
	a, ok := s.asked[m.ID]
	if !ok {
		return
	}
	s.closeQuestion(m.ID, a)
	answer := &client.Answer{Question: a.question, Result: m.Result, Err: m.Error, To: a.from}
	answer.SendTo(s.p, a.from, s.options.Account)
}

// closeQuestion forgets a question. If the question was already refused, because this incarnation
// hung, the extension of the call's deadline has ended too.
func (s *Session) closeQuestion(id jsonrpc.ID, a *openQuestion) {
	delete(s.asked, id)
	a.timer.Stop()
	if s.handle.Questions().Close(id) && a.call != 0 {
		s.endExtension(a.call)
	}
}

// endExtension ends the extension of a call's deadline.
func (s *Session) endExtension(call uint64) {
	// late: it undoes one Park, and only the code that closed the question sends it.
	_ = s.options.Requests.Send(request.NewRestoreDeadline(s.options.Requests, call))
}

// refusal returns the function that ends a question which the actor left open.
func (s *Session) refusal(id jsonrpc.ID, a openQuestion) func() {
	return func() {
		s.withdraw(id)
		if a.call != 0 {
			s.endExtension(a.call)
		}
		// late: the question ends with its actor, and takes one answer.
		_ = a.from.Send(
			&client.Answer{
				Question: a.question,
				Err:      protocol.Translate(protocol.SessionGone(), protocol.LatestLegacy),
			},
		)
	}
}

// askExpired answers the server when the client did not answer in time.
func (s *Session) askExpired(id jsonrpc.ID) {
	a, ok := s.asked[id]
	if !ok {
		return
	}
	s.closeQuestion(id, a)
	_ = s.p.Send(a.from, &client.Answer{
		Question: a.question,
		Err: protocol.Translate(protocol.Timeout(s.options.Tenant().Limits.InputTimeout),
			s.record.Version),
	})
}

// withdrawn tells the client that a server no longer waits for its answer.
func (s *Session) withdrawn(m *client.Withdrawn) {
	if s.modern() {
		s.cancelHeldQuestion(m)
		return
	}
	for id, a := range sortedmap.SortedBy(s.asked, jsonrpc.ID.Compare) {
		if a.from != m.From || a.question != m.Question {
			continue
		}
		s.closeQuestion(id, a)
		s.withdraw(id)
		return
	}
}

// callEnded handles the questions of a call that has ended. If the server answered the call
// without waiting, the client can still answer the question. After any other end of the call no
// answer is needed, and the server is told so.
func (s *Session) callEnded(call uint64, failed bool) {
	for id, a := range sortedmap.SortedBy(s.asked, jsonrpc.ID.Compare) {
		if a.call != call {
			continue
		}
		a.call = 0 // the request manager no longer tracks the call
		if !failed {
			continue
		}
		s.closeQuestion(id, a)
		s.withdraw(id)
		over := protocol.InvalidParams("the call during which this was asked has ended")
		_ = s.p.Send(a.from, &client.Answer{
			Question: a.question, Err: protocol.Translate(over, s.record.Version),
		})
	}
}

// withdraw tells the client that a question is cancelled.
func (s *Session) withdraw(id jsonrpc.ID) {
	// an empty value becomes an object
	params, _ := jsonedit.Set(nil, jsontext.Value(id.Raw()), "requestId")
	// valid from any incarnation: no incarnation waits for the answer any more
	_ = s.handle.Push(jsonrpc.Notification("notifications/cancelled", params))
}

// answerProgress passes the client's progress on a question to the server that asked, if the server
// gave a progress token.
func (s *Session) answerProgress(m jsonrpc.Message) {
	token, _ := jsonedit.Get(m.Params, "progressToken")
	id, err := jsonrpc.ParseID(token)
	if err != nil {
		return
	}
	a, ok := s.asked[id]
	if !ok || len(a.token) == 0 {
		return
	}
	if params, err := jsonedit.Set(m.Params, a.token, "progressToken"); err == nil {
		_ = s.p.Send(a.from, &client.ClientNotification{Method: m.Method, Params: params})
	}
}

// completed tells the client that an elicitation is complete. The notification does not exist in
// the modern era.
func (s *Session) completed(m *client.ElicitationCompleted) {
	const method = "notifications/elicitation/complete"
	if s.record == nil || s.gate().Check(protocol.Server, method, m.Params) != nil {
		return
	}
	_ = s.push(jsonrpc.Notification(method, m.Params))
}
