package server

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/held"
	"mcpd/actors/session"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/seal"
	"mcpd/transport"
)

// askableCapabilities are the capabilities for which a server may ask the client something during a
// call.
var askableCapabilities = []string{"elicitation", "sampling", "roots"}

// sink is where the outcome of a call goes: to the client's sink. It is a taskRetrySink if the
// server may refuse the call for want of tasks, and a relay if the server might ask a question that
// the client can only answer by another request.
func (s *Session) sink(o *outgoing) transport.Sink {
	if o.mayNeedTask {
		o.originalBytes = len(o.d.Message.Params)
		return &taskRetrySink{Sink: o.d.Out, h: s.handle, o: o.onHeap(), waiting: s.waiting}
	}
	if o.internal || !s.modern() || !mrtr.MayAsk(o.d.Message.Method) {
		return o.d.Out
	}
	for _, capability := range askableCapabilities {
		if s.record.Capabilities.Has(capability) {
			return held.NewRelay(o.d.Out, s.binding(o))
		}
	}
	return o.d.Out
}

// binding is what a requestState is bound to: the principal and the exact request. The digest of
// the request is seldom needed, so it is computed on demand. For a large request it is computed at
// once, because the client's original would otherwise be kept in addition to the copy for the
// server.
func (s *Session) binding(o *outgoing) func() seal.Binding {
	if o.binding != nil {
		return o.binding
	}
	ep, method, params := s.handle.Endpoint(), o.d.Message.Method, o.d.Message.Params
	b := seal.Binding{Tenant: ep.Tenant, Principal: ep.Principal, Upstream: o.server, Method: method}
	if len(params) > transport.Large {
		b.Params = seal.DigestOf(method, params)
		o.binding = func() seal.Binding { return b }
		return o.binding
	}
	o.originalBytes = len(params)
	o.binding = func() seal.Binding {
		now := b
		now.Params = seal.DigestOf(method, params)
		return now
	}
	return o.binding
}

// wrap seals the state of a modern server, so that it is valid only for this principal and this
// request.
func (s *Session) wrap(o *outgoing) func(jsontext.Value) jsontext.Value {
	if !s.modern() || !mrtr.MayAsk(o.d.Message.Method) {
		return o.rewrite
	}
	before, ring, park := o.rewrite, s.options.Held.Ring, s.options.Held.Park
	p, bind, task, method, retried := s.p, s.binding(o), s.sealTask(o.server), o.d.Message.Method,
		mrtr.Continues(o.d.Message)
	return func(result jsontext.Value) jsontext.Value {
		if before != nil {
			result = before(result)
		}
		if isTask(result) {
			return task(result)
		}
		if mrtr.TypeOf(result) != mrtr.InputRequired {
			if retried {
				result = uncached(method, result)
			}
			return result
		}
		required, err := mrtr.Parse(result)
		if err != nil || len(required.State) == 0 {
			return result
		}
		token, err := ring.Seal(bind(), seal.State{
			Kind: seal.UpstreamState, Upstream: required.State, Expiry: p.Now().Add(park()),
		})
		if err != nil {
			return result
		}
		return mrtr.SetState(result, jsonedit.Quote(token))
	}
}

// uncached marks a result that depends on answers of the client. It must not be cached for other
// requests (2026-07-28 §basic/patterns/mrtr).
func uncached(method string, result jsontext.Value) jsontext.Value {
	if method == "resources/read" { // the only such result with a cache lifetime
		result, _ = jsonedit.Set(result, jsontext.Value("0"), "ttlMs") // a result is an object
		result, _ = jsonedit.Set(result, jsontext.Value(`"private"`), "cacheScope")
	}
	return result
}

// continueCall handles a request that continues an earlier one. It returns true if it has taken the
// request. Otherwise the request goes to its server, with the server's own state or as a new call.
func (s *Session) continueCall(o *outgoing) (taken bool) {
	m := o.d.Message
	if o.internal || o.attempts > 0 || !s.modern() || !mrtr.MayAsk(m.Method) || !mrtr.Continues(m) {
		return false
	}
	retry, err := mrtr.ParseRetry(m.Params)
	if err != nil {
		s.refuse(o.d, err)
		return true
	}
	if len(retry.State) == 0 {
		return false
	}
	token, _ := jsonedit.Unquote(retry.State)
	state, err := s.options.Held.Ring.Open(s.p.Now(), s.binding(o)(), token)
	if err != nil {
		s.refuse(o.d, err)
		return true
	}
	switch state.Kind {
	case seal.UpstreamState:
		retry.State = state.Upstream
		o.params = retry.Set(o.params)
		return false
	case seal.RepeatedCall:
		s.retryAfterVisit(o, state.Round, retry)
		return true
	case seal.Held:
		// The key is this host's, so the state comes from an earlier run of it.
		if state.Instance != s.options.Held.Instance {
			s.refuse(o.d, protocol.StateOutlived(o.server))
			return true
		}
		d := o.d
		comeBack := func() { s.resumeHeld(d, state, retry) }
		if to, ok := s.targets[o.server]; ok && to.Alive() {
			s.ensureLogLevel(o.onHeap(), comeBack)
		} else {
			comeBack()
		}
		return true
	}
	return false
}

// resumeHeld gives a retry to the actor of the call that it continues, whichever session made the
// call. The client may declare other capabilities than before, and so belong to another session.
func (s *Session) resumeHeld(d *session.Deliver, state seal.State, answers mrtr.Retry) {
	call, ok := s.options.HeldCall(held.RowOf(state))
	if !ok {
		s.refuse(d, protocol.StateInvalid("requestState"))
		return
	}
	if len(d.Message.Params) >= transport.Large { // only the answers in it are needed
		answers = answers.Clone()
		d.Message = d.Message.WithParams(d.Message.Elided())
	}
	s.waiting.remove(d)
	s.handle.Calls().AddRetry(d.Out, held.CallOf(state))
	r := &held.Retry{
		Deliver: d, Calls: s.handle.Calls(), Capabilities: s.record.Capabilities, Round: state.Round,
		Answers: answers,
	}
	if err := s.p.Send(call, r); err != nil {
		r.Fail(err)
	}
}
