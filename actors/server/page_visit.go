package server

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/rounds"
	"mcpd/protocol/seal"
)

// A server of 2025-11-25 may end a call because its user must visit a page first
// (§client/elicitation, -32042). A modern client is asked for the visit by a result, and its retry
// repeats the call.

// canVisitPages reports whether the client can send its user to a page during a call.
func (s *Session) canVisitPages() bool {
	return s.modern() && s.record.Capabilities.Has("elicitation.url")
}

// askVisit returns the function that asks the client for such a visit, nil if the client cannot do
// it. The visits for one call are limited to rounds.MaxRounds, because a page may change nothing.
func (s *Session) askVisit(o *outgoing) func([]mrtr.Input) (jsontext.Value, error) {
	if o.internal || !s.canVisitPages() || !mrtr.MayAsk(o.d.Message.Method) {
		return nil
	}
	p, ring, park, bind, made := s.p, s.options.Held.Ring, s.options.Held.Park,
		s.binding(o), o.attempts
	return func(pages []mrtr.Input) (jsontext.Value, error) {
		if made == rounds.MaxRounds {
			return nil, visitRequired("the call needs a visit to a page, again and again")
		}
		token, err := ring.Seal(bind(), seal.State{
			Kind: seal.RepeatedCall, Round: made + 1, Expiry: p.Now().Add(park()),
		})
		if err != nil {
			return nil, protocol.InternalError(err)
		}
		return mrtr.Required{Inputs: pages, State: jsonedit.Quote(token)}.Result(), nil
	}
}

// repeatCall says that a call is due to be made again.
type repeatCall struct{ o *outgoing }

// retryAfterVisit handles the retry of a call that was already made as often as made says. The call
// fails if the user declines the visit, or the client can no longer send its user there.
func (s *Session) retryAfterVisit(o *outgoing, made uint32, retry mrtr.Retry) {
	consents, err := retry.AcceptsPages()
	switch {
	case err != nil:
		s.refuse(o.d, err)
	case !consents || !s.canVisitPages():
		s.refuse(o.d, visitRequired("the call needs a visit to a page, which was declined"))
	default:
		o.attempts, o.params = made, mrtr.Strip(o.params)
		s.waiting.add(o.d)
		s.p.After(rounds.Pause(int(made)-1), repeatCall{o.onHeap()})
	}
}

// repeatCall makes the call again, unless it was cancelled meanwhile.
func (s *Session) repeatCall(o *outgoing) {
	if s.waiting.has(o.d) {
		s.toServer(o)
	}
}

func visitRequired(message string) error {
	return &protocol.Error{Condition: protocol.ConditionURLElicitationRequired, Message: message}
}
