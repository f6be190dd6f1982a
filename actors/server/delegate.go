package server

import (
	"errors"
	"slices"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/held"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// heldCallStarted is the result of starting the actor that handles the questions of a call.
type heldCallStarted struct {
	x   *request.Exchange
	ref otp.Ref
	err error
}

// holdQuestion gives a question of a legacy server to the actor of the call to which the question
// belongs. The first question of a call starts the actor.
func (s *Session) holdQuestion(q *client.Question) {
	x := q.Exchange
	if x == nil {
		q.Fail(
			protocol.InvalidParams(
				"this client can be asked only during a call, and this question does not name its call",
			),
		)
		return
	}
	relay, ok := x.Sink.(*held.Relay)
	full := s.options.Account.CheckBegin()
	switch {
	case !ok:
		q.Fail(protocol.MethodNotFound(q.Method))
		return
	case full != nil:
		q.Fail(full.ClientError())
		return
	case !relay.Holding():
		q.Fail(protocol.InvalidParams("the call to which this question belongs is over"))
		return
	}
	if !s.waiting.ask(q) {
		return
	}
	args := held.Args{Exchange: x, Relay: relay, Capabilities: s.record.Capabilities}
	otp.StartChildArgsAsync(s.p, s.options.HeldCalls(), held.Row(x.ID), args,
		func(ref otp.Ref, err error) any {
			return heldCallStarted{x, ref, err}
		})
}

// sendWaitingQuestions hands over the questions that arrived while the actor was being started.
func (s *Session) sendWaitingQuestions(m heldCallStarted) {
	var already otp.ErrAlreadyStarted
	if errors.As(m.err, &already) {
		m.ref, m.err = already.Ref, nil
	}
	for _, q := range s.waiting.asked(m.x.ID) {
		err := m.err
		if err == nil {
			err = s.p.Send(m.ref.Child(held.Child), q)
		}
		if err != nil {
			q.Fail(protocol.Overloaded("question queue", time.Second))
		}
	}
	if m.err != nil {
		release(m.x)
	}
}

// release lets a call go on without an actor, because none could be started.
func release(x *request.Exchange) {
	if relay, ok := x.Sink.(*held.Relay); ok {
		relay.Release()
	}
}

// cancelHeldQuestion takes back a question that its server has cancelled.
func (s *Session) cancelHeldQuestion(m *client.Withdrawn) {
	if s.waiting.unask(m) {
		return
	}
	if call, ok := s.options.HeldCall(held.Row(m.Call)); ok {
		_ = s.p.Send(call, m)
	}
}

// ask keeps a question for the actor of its call. It reports whether the question is the first of
// that call.
func (w *pendingRequests) ask(q *client.Question) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.abandoned {
		return false
	}
	if w.questions == nil {
		w.questions = map[uint64][]*client.Question{}
	}
	kept := w.questions[q.Exchange.ID]
	w.questions[q.Exchange.ID] = append(kept, q)
	return len(kept) == 0
}

// asked removes and returns the questions that were kept for a call.
func (w *pendingRequests) asked(call uint64) []*client.Question {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.questions[call]
	delete(w.questions, call)
	if len(w.questions) == 0 {
		w.questions = nil
	}
	return kept
}

// unask drops a question, and reports whether it was there.
func (w *pendingRequests) unask(m *client.Withdrawn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.questions[m.Call]
	i := slices.IndexFunc(kept, func(q *client.Question) bool {
		return q.From == m.From && q.ID == m.Question
	})
	if i < 0 {
		return false
	}
	w.questions[m.Call] = slices.Delete(kept, i, i+1)
	return true
}
