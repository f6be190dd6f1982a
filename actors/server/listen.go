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
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/protocol/subscription"
	"mcpd/protocol/tasks"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// MaxListens bounds the subscriptions of one peer, which serves all clients that say the same of
// themselves; each holds a response open.
const MaxListens = 1 << 13

// listen is one subscriptions/listen (2026-07-28 §basic/patterns/subscriptions).
type listen struct {
	d       *session.Deliver
	granted subscription.Filter    // its tasks are those that there are
	uris    []session.Subscription // those of granted that no server has refused
	waiting int                    // servers that have not answered yet
	number  uint64                 // in which order they came
}

// inquiry is a request that the session itself makes of a server, and the sink of it.
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

// Class lets it in however full the mailbox is: it is one for each inquiry.
func (inquired) Class() otp.Class { return otp.Owed }

// Send takes nothing: nobody waits for news of an inquiry.
func (q *inquiry) Send(jsonrpc.Message) error { return transport.ErrClosed }

// Finish tells the session.
func (q *inquiry) Finish(m jsonrpc.Message) bool {
	if !q.once.CompareAndSwap(false, true) {
		return false
	}
	_ = q.h.Send(inquired{q.about, m.Result, m.Error})
	return true
}

// inquire asks a server for something in the words of the legacy era, which a connection to a modern server understands too.
func (s *Session) inquire(server, method string, params jsontext.Value, about any) {
	d := &session.Deliver{Message: jsonrpc.Request(jsonrpc.IntID(0), method, params), Out: &inquiry{h: s.h, about: about}}
	s.toServer(&outgoing{d: d, server: server, params: params, own: true})
}

// agreement is that of a server to tell of one resource, for a listen.
type agreement struct {
	l   *listen
	uri session.Subscription
}

// subscribe opens a subscription. It is confirmed when the servers have agreed to what they are asked for; a resource to which one does
// not agree is left out.
func (s *Session) subscribe(d *session.Deliver) {
	wanted, err := subscription.ParseFilter(d.Message.Params)
	for _, uri := range wanted.URIs {
		err = cmp.Or(err, merge.CheckURI(uri))
	}
	if name := wanted.Name(); err == nil && len(name) > merge.MaxURI {
		err = protocol.InvalidParams(fmt.Sprintf("the filters of extensions have %d bytes, and may have %d", len(name), merge.MaxURI))
	}
	if err != nil {
		s.refuse(d, err)
		return
	}
	if len(wanted.Tasks) > 0 && !s.follows() {
		s.refuse(d, protocol.CapabilityRequired(tasks.Extended))
		return
	}
	s.look(d, s.firstWait(), nil, func(d *session.Deliver) {
		if len(s.listens) >= MaxListens {
			s.refuse(d, protocol.Overloaded("subscriptions", 0))
			return
		}
		l := &listen{d: d, granted: wanted.Grant(s.record.Offered)}
		l.number = s.waiting.add(d) // until it ends
		if s.listens == nil {
			s.listens = map[transport.Sink]*listen{}
		}
		s.listens[d.Out] = l
		s.h.Listens(len(s.listens))
		s.listen()
		l.granted.Tasks = slices.DeleteFunc(l.granted.Tasks, func(id string) bool { return !s.watchTask(l, id) })
		for _, uri := range l.granted.URIs {
			params, _ := splice.Set(nil, splice.Quote(uri), "uri") // an empty value becomes an object
			target, err := s.view.Route("resources/subscribe", params, s.giver())
			if err != nil {
				continue
			}
			own, _ := splice.GetString(target.Params, "uri")
			u := session.Subscription{Server: target.Server, URI: uri, Own: own}
			l.waiting++
			l.uris = append(l.uris, u)
			s.inquire(target.Server, "resources/subscribe", target.Params, agreement{l, u})
		}
		s.listenToExtensions(l, wanted.Name())
		s.acknowledge(l)
	})
}

// listenToExtensions asks the one server for what a listen wants of extensions which both ends have
// declared. A server whose revision has no such subscriptions is not asked.
func (s *Session) listenToExtensions(l *listen, name string) {
	if name == "" || !s.extended() || len(s.view.Servers) == 0 || !s.view.Servers[0].Facts.Version.Has(protocol.Listen) {
		return
	}
	u := session.Subscription{Server: s.h.Endpoint().Server, URI: name, Own: name}
	l.waiting++
	l.uris = append(l.uris, u)
	params, _ := splice.Set(nil, splice.Quote(name), "uri") // an empty value becomes an object
	s.inquire(u.Server, "resources/subscribe", params, agreement{l, u})
}

// inquired goes on with a listen when one more server has said what it thinks of it. One that ended meanwhile has let go of it already.
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

// acknowledge confirms a subscription: the first thing that its client hears. It heard so before if this actor follows one that crashed.
func (s *Session) acknowledge(l *listen) {
	if l.waiting > 0 || s.listens[l.d.Out] != l || !l.d.Acknowledge() {
		return
	}
	l.granted.URIs = nil
	for _, u := range l.uris {
		if f, ok := subscription.Named(u.URI); ok {
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

// announce tells what a server announced on the subscriptions that asked for it, each under its own id.
func (s *Session) announce(n *notification.Notice) {
	s.p.Check()
	for l := range s.listening() {
		if !l.d.Acknowledged() {
			continue
		}
		for _, params := range s.announced(l, n) {
			if l.d.Out.Send(jsonrpc.Notification(n.Method, subscription.Tag(params, l.d.Message.ID))) != nil {
				s.unlisten(l) // its client has gone while there was nobody to be told
				break
			}
		}
	}
}

// announced returns the params of what a subscription hears of a notification: several if it asked
// for one resource under several names.
func (s *Session) announced(l *listen, n *notification.Notice) []jsontext.Value {
	_, named := subscription.Named(n.URI)
	switch {
	case n.Method == "notifications/resources/updated" && !named:
		return s.renamed(l.uris, n)
	case named && slices.ContainsFunc(l.uris, func(u session.Subscription) bool { return u.Server == n.Server && u.Own == n.URI }),
		!named && l.granted.Wants(n.Method):
		return []jsontext.Value{n.Params}
	}
	return nil
}

// listening goes through the subscriptions as they came.
func (s *Session) listening() iter.Seq[*listen] {
	return slices.Values(slices.SortedFunc(maps.Values(s.listens), func(a, b *listen) int { return cmp.Compare(a.number, b.number) }))
}

// unlisten forgets a subscription, and lets servers go that nobody hears of any more.
func (s *Session) unlisten(l *listen) {
	delete(s.listens, l.d.Out)
	s.h.Listens(len(s.listens))
	s.waiting.remove(l.d)
	for _, u := range l.uris {
		s.release(u)
	}
}

// release unsubscribes from a resource that nobody listens to any more.
func (s *Session) release(u session.Subscription) {
	if s.wants(u.Server, u.Own) {
		return
	}
	params, _ := splice.Set(nil, splice.Quote(u.Own), "uri") // an empty value becomes an object
	s.inquire(u.Server, "resources/unsubscribe", params, nil)
}

// wants reports whether some subscription still is for a resource, or asks for it.
func (s *Session) wants(server, own string) bool {
	for _, l := range s.listens {
		for _, u := range l.uris {
			if u.Server == server && u.Own == own {
				return true
			}
		}
	}
	return false
}

// hangUp ends every subscription politely: this session ends, or the host. One that was not acknowledged is refused with what else waits.
func (s *Session) hangUp() {
	for l := range s.listening() {
		if l.d.Acknowledged() {
			s.endListen(l, s.unconfigured())
		}
	}
}

// renamed returns the params of a notification that a resource has changed, once for each name under
// which the client asked for the resource. It is empty if the client did not ask. A change below what
// it asked for is told once, unless it asked for that resource too.
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
		names = append(names, s.outward(n.Server, n.URI))
	}
	all := make([]jsontext.Value, 0, len(names))
	for _, name := range names {
		params := n.Params
		if name != n.URI {
			var err error
			if params, err = splice.Set(params, splice.Quote(name), "uri"); err != nil {
				continue
			}
		}
		all = append(all, params)
	}
	return all
}

// outward is a URI of a server by which the client can come back with it.
func (s *Session) outward(server, uri string) string {
	switch {
	case s.transparent():
		return uri
	case s.view != nil:
		return s.view.URI(server, uri)
	}
	return merge.Wrap(server, uri)
}
