package server

import (
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/session"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// looksIn are the lists that decide to which server a request goes.
func looksIn(method string) []merge.Kind {
	switch kind := routes[method].kind; {
	case kind == merge.Resources:
		return []merge.Kind{merge.Resources, merge.Templates}
	case method == "completion/complete":
		return []merge.Kind{merge.Prompts, merge.Resources, merge.Templates}
	default:
		return []merge.Kind{kind}
	}
}

// look asks for a fresh view and then goes on with the request. It waits for wait at most, and not
// beyond the deadline of the request. If the request names a server, it waits for that server only.
// The argument lists are those that the answer needs.
func (s *Session) look(d *session.Deliver, wait time.Duration, lists []merge.Kind,
	then func(*session.Deliver)) {
	s.waiting.add(d)
	otp.CallAsync(s.p, s.options.Catalog, catalog.LookRequest{
		Caller: s.caller(), Wait: min(wait, s.timeLeft(d)), For: s.named(d.Message), Lists: lists,
	}, func(v *catalog.View, err error) any { return looked{d, v, err, then} })
}

// named is the one server to which a request goes, as far as that is known without lists. It is
// empty for a request that the host itself answers.
func (s *Session) named(m jsonrpc.Message) string {
	switch {
	case !s.singleServer():
		return merge.NamedServer(m.Method, m.Params)
	case routes[m.Method].route != here:
		return s.handle.Endpoint().Server
	}
	return ""
}

func (s *Session) looked(m looked) {
	if !s.waiting.has(m.d) { // cancelled meanwhile
		return
	}
	if m.err != nil {
		s.refuse(m.d, m.err)
		return
	}
	s.setView(m.view)
	if s.modern() {
		s.store(func(r *session.Record) {
			offered := s.view.Offer(r.Version).ForStorage(r.Capabilities)
			r.Offered = r.Offered.Union(offered) // a list that existed before is empty at worst
			r.Withheld = s.view.Withheld()
		})
	}
	m.then(m.d)
}
