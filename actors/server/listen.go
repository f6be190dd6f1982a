package server

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/notification"
	"mcpd/actors/session"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/subscription"
	"mcpd/protocol/tasks"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// MaxListens bounds the subscriptions of one peer. A peer serves all clients that declare the same,
// and each subscription holds a response open.
const MaxListens = 1 << 13

// listen is one subscriptions/listen request (2026-07-28 §basic/patterns/subscriptions).
type listen struct {
	d       *session.Deliver
	granted subscription.Filter    // its tasks are only those that exist
	uris    []session.Subscription // the URIs of granted that no server has refused
	waiting int                    // servers that have not answered yet
	number  uint64                 // order of arrival
}

// inquiry is the sink of a request that the session itself makes of a server.
type inquiry struct {
	h     *session.Handle
	about any
	once  atomic.Bool
}

// inquired is the outcome of an inquiry.
type inquired struct {
	about  any
	result jsontext.Value
	err    *jsonrpc.Error
}

// Class returns otp.Reserved (reserved): there is one such message for each inquiry.
func (inquired) Class() otp.Class { return otp.Reserved }

// Send refuses every message, because an inquiry needs only its outcome.
func (q *inquiry) Send(jsonrpc.Message) error { return transport.ErrClosed }

// Finish sends the outcome to the session.
func (q *inquiry) Finish(m jsonrpc.Message) bool {
	if !q.once.CompareAndSwap(false, true) {
		return false
	}
	_ = q.h.Send(inquired{q.about, m.Result, m.Error})
	return true
}

// inquire sends a request of the session itself to a server. The request has the form of the legacy
// era, which a connection to a modern server understands too.
func (s *Session) inquire(server, method string, params jsontext.Value, about any) {
	d := &session.Deliver{
		Message: jsonrpc.Request(jsonrpc.IntID(0), method, params),
		Out:     &inquiry{h: s.handle, about: about},
	}
	s.toServer(&outgoing{d: d, server: server, params: params, internal: true})
}

// agreement identifies a resource in a listen, for which a server is asked.
type agreement struct {
	l   *listen
	uri session.Subscription
}

// subscribe opens a subscription. It is acknowledged when every server has answered its part of it.
// A resource is left out if its server refuses.
func (s *Session) subscribe(d *session.Deliver) {
	wanted, err := subscription.ParseFilter(d.Message.Params)
	for _, uri := range wanted.URIs {
		err = cmp.Or(err, merge.CheckURI(uri))
	}
	if name := wanted.Name(); err == nil && len(name) > merge.MaxURI {
		err = protocol.InvalidParams(
			fmt.Sprintf("the filters of extensions have %d bytes, and at most %d are allowed", len(name),
				merge.MaxURI),
		)
	}
	if err != nil {
		s.refuse(d, err)
		return
	}
	if len(wanted.Tasks) > 0 && !s.supportsTasks() {
		s.refuse(d, protocol.CapabilityRequired(tasks.ExtensionCapability))
		return
	}
	s.look(d, s.firstWait(), nil, func(d *session.Deliver) {
		if len(s.listens) >= MaxListens {
			s.refuse(d, protocol.Overloaded("subscription table", 0))
			return
		}
		l := &listen{d: d, granted: wanted.Grant(s.record.Offered)}
		l.number = s.waiting.add(d) // until the subscription ends
		if s.listens == nil {
			s.listens = map[transport.Sink]*listen{}
		}
		s.listens[d.Out] = l
		s.handle.SetListens(len(s.listens))
		s.listen()
		l.granted.Tasks = slices.DeleteFunc(l.granted.Tasks, func(id string) bool {
			return !s.watchTask(l, id)
		})
		for _, uri := range l.granted.URIs {
			params, _ := jsonedit.Set(nil, jsonedit.Quote(uri), "uri") // an empty value becomes an object
			target, err := s.view.Route("resources/subscribe", params, s.uriOwner())
			if err != nil {
				continue
			}
			own, _ := jsonedit.GetString(target.Params, "uri")
			u := session.Subscription{Server: target.Server, URI: uri, Own: own}
			l.waiting++
			l.uris = append(l.uris, u)
			s.inquire(target.Server, "resources/subscribe", target.Params, agreement{l, u})
		}
		s.listenToExtensions(l, wanted.Name())
		s.acknowledge(l)
	})
}

// listenToExtensions asks the one server for the notifications of extensions that both sides have
// declared. A server whose revision has no subscriptions is not asked.
func (s *Session) listenToExtensions(l *listen, name string) {
	if name == "" || !s.extended() || len(s.view.Servers) == 0 ||
		!s.view.Servers[0].Facts.Version.Has(protocol.Listen) {
		return
	}
	u := session.Subscription{Server: s.handle.Endpoint().Server, URI: name, Own: name}
	l.waiting++
	l.uris = append(l.uris, u)
	params, _ := jsonedit.Set(nil, jsonedit.Quote(name), "uri") // an empty value becomes an object
	s.inquire(u.Server, "resources/subscribe", params, agreement{l, u})
}

// inquired goes on with a listen after one more server has answered. A listen that ended meanwhile
// has already released the server.
func (s *Session) inquired(m inquired) {
	if w, ok := m.about.(*taskWatch); ok {
		s.polledTask(w, m)
		return
	}
	a, ok := m.about.(agreement)
	if !ok || s.listens[a.l.d.Out] != a.l {
		return
	}
	a.l.waiting--
	if m.err != nil {
		a.l.uris = slices.DeleteFunc(a.l.uris, func(u session.Subscription) bool { return u == a.uri })
	}
	s.acknowledge(a.l)
}

// acknowledge confirms a subscription, as its first message. It sends nothing if the previous actor
// of the session already did, before it crashed.
func (s *Session) acknowledge(l *listen) {
	if l.waiting > 0 || s.listens[l.d.Out] != l || !l.d.Acknowledge() {
		return
	}
	l.granted.URIs = nil
	for _, u := range l.uris {
		if f, ok := subscription.FilterFromName(u.URI); ok {
			l.granted.Extensions = f.Extensions
		} else {
			l.granted.URIs = append(l.granted.URIs, u.URI)
		}
	}
	s.p.Check()
	if l.d.Out.Send(l.granted.Acknowledged(l.d.Message.ID)) != nil {
		s.unlisten(l)
	}
}

// announce sends a notification of a server on each subscription that asked for it, tagged with the
// subscription's id.
func (s *Session) announce(n *notification.Notice) {
	s.p.Check()
	for l := range s.listening() {
		if !l.d.Acknowledged() {
			continue
		}
		for _, params := range s.announced(l, n) {
			if l.d.Out.Send(jsonrpc.Notification(n.Method,
				subscription.Tag(params, l.d.Message.ID))) != nil {
				s.unlisten(l) // the client has gone, while no actor could be told
				break
			}
		}
	}
}

// announced returns the params of the messages by which a subscription is told of a notification.
// There are several if the client asked for one resource under several names.
func (s *Session) announced(l *listen, n *notification.Notice) []jsontext.Value {
	_, named := subscription.FilterFromName(n.URI)
	switch {
	case n.Method == "notifications/resources/updated" && !named:
		return s.renamed(l.uris, n)
	case named && slices.ContainsFunc(l.uris, func(u session.Subscription) bool {
		return u.Server == n.Server && u.Own == n.URI
	}),
		!named && l.granted.Wants(n.Method):
		return []jsontext.Value{n.Params}
	}
	return nil
}

// listening yields the subscriptions in their order of arrival.
func (s *Session) listening() iter.Seq[*listen] {
	return slices.Values(slices.SortedFunc(maps.Values(s.listens), func(a, b *listen) int {
		return cmp.Compare(a.number, b.number)
	}))
}

// unlisten forgets a subscription, and unsubscribes from resources that no other subscription
// covers.
func (s *Session) unlisten(l *listen) {
	delete(s.listens, l.d.Out)
	s.handle.SetListens(len(s.listens))
	s.waiting.remove(l.d)
	for _, u := range l.uris {
		s.release(u)
	}
}

// release unsubscribes from a resource that no subscription covers any more.
func (s *Session) release(u session.Subscription) {
	if s.covered(u.Server, u.Own) {
		return
	}
	params, _ := jsonedit.Set(nil, jsonedit.Quote(u.Own), "uri") // an empty value becomes an object
	s.inquire(u.Server, "resources/unsubscribe", params, nil)
}

// covered reports whether any subscription still covers a resource, or asks for it.
func (s *Session) covered(server, own string) bool {
	for _, l := range s.listens {
		for _, u := range l.uris {
			if u.Server == server && u.Own == own {
				return true
			}
		}
	}
	return false
}

// hangUp ends every acknowledged subscription with its result, because this session or the host
// ends. The others are refused like any waiting request.
func (s *Session) hangUp() {
	for l := range s.listening() {
		if l.d.Acknowledged() {
			s.endListen(l, s.unconfigured())
		}
	}
}

// renamed returns the params of a notification that a resource has changed, once for each name
// under which the client asked for the resource. It is empty if the client did not ask. If only a
// parent of the resource was asked for, there is one message.
func (s *Session) renamed(uris []session.Subscription, n *notification.Notice) []jsontext.Value {
	var names []string
	below := false
	for _, want := range uris {
		switch {
		case want.Server != n.Server || !subscription.Covers(want.Own, n.URI):
		case want.Own != n.URI:
			below = true
		case !slices.Contains(names, want.URI):
			names = append(names, want.URI)
		}
	}
	if len(names) == 0 && below {
		names = append(names, s.clientURI(n.Server, n.URI))
	}
	all := make([]jsontext.Value, 0, len(names))
	for _, name := range names {
		params := n.Params
		if name != n.URI {
			var err error
			if params, err = jsonedit.Set(params, jsonedit.Quote(name), "uri"); err != nil {
				continue
			}
		}
		all = append(all, params)
	}
	return all
}

// clientURI is the URI by which the client can refer to a server's URI.
func (s *Session) clientURI(server, uri string) string {
	switch {
	case s.singleServer():
		return uri
	case s.view != nil:
		return s.view.ClientURI(server, uri)
	}
	return merge.Wrap(server, uri)
}
