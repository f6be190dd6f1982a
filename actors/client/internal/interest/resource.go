package interest

import (
	"errors"

	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/subscription"
)

// The methods of the requests.
const (
	setLevel    = "logging/setLevel"
	subscribe   = "resources/subscribe"
	unsubscribe = "resources/unsubscribe"
	listen      = "subscriptions/listen"
)

// hold records that a session wants to be told of a resource.
func (s *step) hold(uri, session string, agreed bool) {
	who := s.uris[uri]
	if who == nil {
		who = map[string]bool{}
		s.uris[uri] = who
		s.count(len(uri))
		s.do(Effect{Do: Instances, URI: uri, Session: session, Op: Follow})
	}
	who[session] = who[session] || agreed
}

// letGo records that a session no longer wants a resource, and reports whether no session wants it
// any more.
func (s *step) letGo(uri, session string) (last bool) {
	who := s.uris[uri]
	if delete(who, session); len(who) > 0 {
		return false
	}
	s.drop(uri)
	return true
}

func (s *step) drop(uri string) {
	if _, known := s.uris[uri]; known {
		delete(s.uris, uri)
		s.count(-len(uri))
	}
	s.do(Effect{Do: Instances, URI: uri, Op: Unfollow})
}

func (s *step) count(more int) {
	s.bytes += more
	s.reservation.Resize(s.bytes)
}

// call lets the call itself ask the server. It need not if the server has agreed already, is being
// asked, or another session still wants the resource.
func (s *step) call(in Event) {
	uri, from := in.Ask.Value, in.Call.Session
	waiting, asked := s.asking[uri]
	e := Effect{Do: Answer, URI: uri, Call: in.Call}
	switch wanted := in.Ask.Method == subscribe; {
	case wanted && s.Agreed(uri):
		s.hold(uri, from, true)
	case wanted:
		s.hold(uri, from, false) // from now on, so that another's unsubscribe does not take it away
		switch {
		case s.to.Listens:
			s.do(Effect{Do: Keep, Call: in.Call})
			e.Do = Listen
		case asked:
			s.asking[uri] = append(waiting, waiter{call: in.Call})
			e.Do = Keep
		default:
			s.asking[uri] = nil
			e.Do = Write
		}
	case !s.letGo(uri, from) || asked:
	case s.to.Listens:
		s.do(Effect{Do: Unlisten, URI: uri})
	default:
		s.asking[uri] = nil
		e.Do = Write
	}
	s.do(e)
}

// answered handles the server's answer to a request, or to a call.
func (s *step) answered(in Event) {
	about, asked := in.Ask.Value, in.Call == nil
	if asked {
		s.out--
	}
	switch method := in.Ask.Method; {
	case method == setLevel:
		s.leveling, s.refused = false, in.Err
		if now := s.verbose(); now != about {
			s.askLevel(now)
		}
	case method == listen && !asked:
		s.subscribed(about, in)
		s.do(Effect{Do: Answer, Call: in.Call, Err: in.Err})
	case method == listen: // nobody waits
	case method == subscribe && !asked:
		s.called(about, in)
	case asked:
		s.followed(about, method == subscribe, in.Err)
	default:
		s.followed(about, false, nil)
	}
}

// called handles the server's answer to a subscription that was a call. If it was refused, the
// server is asked once more for others that want the resource: the call may have failed for reasons
// of its own.
func (s *step) called(uri string, in Event) {
	agreed := in.Err == nil || in.Late
	in.Late = false // so that followed alone unsubscribes from what nobody wants by now
	waiting := s.asking[uri]
	delete(s.asking, uri)
	s.subscribed(uri, in)
	switch {
	case agreed:
		s.asking[uri] = waiting
		s.followed(uri, true, nil)
	case len(s.uris[uri]) > 0 && s.follow(uri, true, false):
		s.asking[uri] = waiting
	default:
		s.answer(uri, waiting, in.Err)
	}
}

// answer tells those who have waited for the server's answer about a resource.
func (s *step) answer(uri string, waiting []waiter, err error) {
	for _, w := range waiting {
		if w.call != nil {
			s.subscribed(uri, Event{Call: w.call, Err: err})
			s.do(Effect{Do: Answer, Call: w.call, Err: err})
		} else if err == nil {
			s.do(Effect{Do: Missed, URI: uri, Session: w.session})
		}
	}
}

// subscribed handles the server's answer to a subscription for a call.
func (s *step) subscribed(uri string, in Event) {
	switch agreed, wants := s.uris[uri][in.Call.Session]; {
	case !wants: // the session has given it up meanwhile
	case in.Err == nil:
		s.uris[uri][in.Call.Session] = true
	case !agreed:
		if s.letGo(uri, in.Call.Session) && in.Late { // the server has agreed
			s.follow(uri, false, false)
		}
	}
}

// follow asks the server to announce a resource, or to stop, on behalf of sessions that do not wait
// for it themselves. It reports whether the server is asked by a request.
func (s *step) follow(uri string, wanted, missed bool) (asked bool) {
	_, ofExtensions := subscription.FilterFromName(uri)
	switch {
	case s.to.Listens && wanted:
		s.out++
		s.do(Effect{Do: Listen, URI: uri, Missed: missed})
		return false
	case s.to.Listens:
		s.do(Effect{Do: Unlisten, URI: uri})
		return false
	case ofExtensions: // the server is another by now
		return false
	case s.Asking(uri):
		return true
	}
	s.asking[uri] = nil
	if missed {
		s.asking[uri] = []waiter{{}}
	}
	method := unsubscribe
	if wanted {
		method = subscribe
	}
	s.queue = append(s.queue, Ask{method, uri})
	return true
}

// followed goes on when the server has answered. By then the opposite may be wanted.
func (s *step) followed(uri string, wanted bool, err error) {
	waiting, wants := s.asking[uri], len(s.uris[uri]) > 0
	delete(s.asking, uri)
	if wants && !wanted && s.follow(uri, true, false) {
		s.asking[uri] = waiting
		return
	}
	s.answer(uri, waiting, err)
	switch {
	case !wants && wanted:
		s.follow(uri, false, false)
	case wanted && err != nil && s.Agreed(uri):
		s.askLater(uri, err)
	}
}

// askLater lets the server be asked once more for a resource, after a pause, unless it knows no
// subscriptions.
func (s *step) askLater(uri string, err error) {
	refused, _ := errors.AsType[*jsonrpc.Error](err)
	if s.later[uri] || refused != nil && refused.Code == jsonrpc.CodeMethodNotFound {
		return
	}
	s.later[uri] = true
	s.do(Effect{Do: Later, URI: uri})
}

// again asks once more for a resource that the server has refused to announce. Its sessions count
// as subscribed, since an earlier server had agreed, and no message tells them that they are not.
func (s *step) again(uri string) {
	delete(s.later, uri)
	switch {
	case !s.Agreed(uri) || s.Asking(uri):
	case s.to.Ready:
		s.follow(uri, true, true)
	default:
		s.askLater(uri, nil)
	}
}

// missed tells a session that a resource may have changed while the session was not subscribed to
// it. The session is told once it is subscribed again.
func (s *step) missed(uri, session string) {
	switch waiting, asked := s.asking[uri]; {
	case !s.to.Ready: // see restore
		s.before[uri] = true
	case asked:
		s.asking[uri] = append(waiting, waiter{session: session})
	default:
		s.do(Effect{Do: Missed, URI: uri, Session: session})
	}
}

// followToo follows the resources of the connection that hands this one its calls. Calls wait for
// the server's answer, because they may change the resource.
func (s *step) followToo(in Event) {
	wanted := in.Op == Follow
	switch known := s.uris[in.URI] != nil; {
	case known == wanted:
		return
	case wanted:
		s.hold(in.URI, in.Session, true)
	default:
		s.drop(in.URI)
	}
	if s.to.Ready {
		s.do(Effect{Do: Serve, Session: in.Session})
		s.follow(in.URI, wanted, false)
		s.wait()
	}
}
