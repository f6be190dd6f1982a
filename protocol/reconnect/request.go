package reconnect

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// request is a request of the client without an outcome.
type request struct {
	id        jsonrpc.ID
	method    string
	message   jsonrpc.Message // zero if it was not stored
	size      int             // bytes of the stored message
	held      bool            // the request waits for the host
	repeated  bool            // the host may have executed it once
	deadline  time.Time       // end of its waiting time
	notBefore time.Time       // time of the next sending; zero for at once
	confirmed bool            // a confirmed subscription, which waits without a deadline
}

const listening = "subscriptions/listen"

// repeatable reports whether a request that may have been executed can be sent again.
func (r *request) repeatable() bool {
	switch r.method {
	case "initialize", "ping", "server/discover", listening:
		return true
	}
	return protocol.IsReadOnly(r.method) && !r.repeated
}

func (l *Link) find(id jsonrpc.ID) *request {
	for _, r := range l.requests {
		if r.id == id {
			return r
		}
	}
	return nil
}

// all returns a copy, for loops that end requests.
func (l *Link) all() []*request { return slices.Clone(l.requests) }

func (l *Link) held() (n int) {
	for _, r := range l.requests {
		if r.held {
			n++
		}
	}
	return n
}

// request handles a request of the client. It sends the request at once, or holds it while the host
// is away or the session does not have its log level yet.
func (l *Link) request(m jsonrpc.Message) {
	r := &request{id: m.ID, method: m.Method, deadline: l.now.Add(Wait)}
	if size := m.Size(); l.storedBytes+size <= MaxStoredBytes {
		r.message, r.size = m, size
	}
	if l.modern && m.Size() <= maxIdentity {
		l.last = m.Params
	}
	full := r.size == 0 || l.held() >= MaxHeld
	l.requests = append(l.requests, r)
	l.storedBytes += r.size
	switch {
	case !l.away && (full || !l.awaitsLogLevel()):
		l.send(m)
	case !l.away:
		r.held = true
	case full:
		e := protocol.Overloaded("mcpd stdio, which waits for its host", 0)
		l.finish(r, jsonrpc.Failure(r.id, protocol.Translate(e, l.version)))
	case l.gone && l.confirmed:
		l.fail(r, false)
	default:
		r.held = true
		l.retrySoon()
	}
}

// finish gives a request its outcome.
func (l *Link) finish(r *request, m jsonrpc.Message) {
	if i := slices.Index(l.requests, r); i >= 0 {
		l.requests = slices.Delete(l.requests, i, i+1)
		l.storedBytes -= r.size
		l.do(Effect{Do: Finish, ID: r.id, Message: m})
	}
}

// fail tells the client that the host was lost.
func (l *Link) fail(r *request, written bool) {
	l.recall(func(q question) bool { return q.related == r.id })
	e := protocol.UpstreamLost("host", written, nil).MarkRetryable(r.method)
	if l.reason != "" {
		e.Message += ": " + l.reason
	}
	l.finish(r, jsonrpc.Failure(r.id, protocol.Translate(e, l.version)))
}

// hold stores a request for the next host, if possible.
func (l *Link) hold(r *request, written bool) {
	if r.size == 0 || !r.confirmed && !r.deadline.After(l.now) {
		l.fail(r, written)
		return
	}
	r.held, r.repeated = true, r.repeated || written
}

// flush sends the held requests, unless they wait for the log level.
func (l *Link) flush() {
	if l.awaitsLogLevel() {
		return
	}
	for _, r := range l.requests {
		if r.held && !r.notBefore.After(l.now) {
			r.held, r.notBefore = false, time.Time{}
			l.send(r.message)
		}
	}
}

// failAfterInputClosed ends the requests that wait for an absent host once the client has closed
// its input. A host that is shutting down still answers the requests that it has accepted.
func (l *Link) failAfterInputClosed() {
	if !l.gone || !l.away || !l.confirmed {
		return
	}
	for _, r := range l.all() {
		if r.held || !l.stopping {
			l.fail(r, !r.held)
		}
	}
}

// notice handles a notification of the client.
func (l *Link) notice(m jsonrpc.Message) {
	switch m.Method {
	case "notifications/cancelled":
		l.cancelled(m)
		return
	case "notifications/initialized":
		l.state.initialized = true
		l.replay.initialized = l.away
	case "notifications/roots/list_changed":
		l.replay.roots = l.away
	}
	if !l.away {
		l.send(m)
	}
}

// cancelled ends a request that the client has cancelled.
func (l *Link) cancelled(m jsonrpc.Message) {
	raw, _ := jsonedit.Get(m.Params, "requestId")
	id, err := jsonrpc.ParseID(jsontext.Value(raw))
	if err != nil {
		return
	}
	if r := l.find(id); r != nil {
		if !r.held {
			l.send(m)
		}
		l.finish(r, jsonrpc.Message{})
	}
}
