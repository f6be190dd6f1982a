package reconnect

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// The ids of the link's own requests. They differ from the ids of clients, which are numbers or
// random.
var (
	probeID = jsonrpc.StringID("mcpd stdio looks for its host")
	greetID = jsonrpc.StringID("mcpd stdio opens its session again")
)

// state is the state of a session that the link restores in the next session.
type state struct {
	initialize  jsontext.Value // params of initialize
	initialized bool           // the client sent notifications/initialized
	level       jsontext.Value // params of logging/setLevel
	uris        []string       // the subscribed resources
	listChanges []string       // the list_changed notifications that the host has declared
}

// replay holds the messages that still have to be sent on the connection.
type replay struct {
	initialized, roots bool
	level              bool
	uris               []string
	inFlight           map[jsonrpc.ID]restoration
	sent               uint64
	breaks             int       // broken connections of requests that restore the session
	levelBy            time.Time // time until which requests wait for the log level
}

// awaitsLogLevel reports whether requests have to wait because the session does not have the
// client's log level yet. Otherwise a request could be executed before the level is set, and its
// log messages would be lost. Requests wait until levelBy at the latest.
func (l *Link) awaitsLogLevel() bool {
	if !l.replay.levelBy.After(l.now) {
		return false
	}
	for _, what := range l.replay.inFlight {
		if what.method == setLevel {
			return true
		}
	}
	return l.replay.level
}

// restoration is a request that restores the state of a session and has no outcome yet.
type restoration struct {
	method string
	params jsontext.Value
}

const setLevel = "logging/setLevel"

// learn records the change that a request made to the session.
func (l *Link) learn(r *request, m jsonrpc.Message) {
	params := r.message.Params
	uri, _ := jsonedit.GetString(params, "uri")
	switch r.method {
	case "initialize":
		l.recordHandshake(params, m.Result)
	case "server/discover":
		l.opened = true
	case setLevel:
		l.state.level = params
	case "resources/subscribe":
		fits := len(l.state.uris) < protocol.MaxSubscribedURIs
		if uri != "" && fits && !slices.Contains(l.state.uris, uri) {
			l.state.uris = append(l.state.uris, uri)
		}
	case "resources/unsubscribe":
		l.state.uris = slices.DeleteFunc(l.state.uris, func(u string) bool { return u == uri })
	}
	if l.modern {
		l.opened = true
	}
}

// recordHandshake records the agreement between client and host.
func (l *Link) recordHandshake(params, result jsontext.Value) {
	name, _ := jsonedit.GetString(result, "protocolVersion")
	v, known := protocol.ParseVersion(name)
	if !known {
		return // the client disconnects if it does not know the revision
	}
	l.opened, l.session, l.version = true, true, v
	// The client may have sent notifications/initialized already.
	l.state = state{initialize: params, initialized: l.state.initialized}
	if changed, err := jsonedit.Set(params, jsonedit.Quote(name), "protocolVersion"); err == nil {
		l.state.initialize = changed
	}
	for _, list := range []string{"tools", "prompts", "resources"} {
		if jsonedit.Kind(result, "capabilities", list, "listChanged") == 't' {
			l.state.listChanges = append(l.state.listChanges, "notifications/"+list+"/list_changed")
		}
	}
	l.do(Effect{Do: Agree, Version: v})
}

// attempt tries to reach the host.
func (l *Link) attempt() {
	l.attempts++
	l.tried, l.next = l.now, time.Time{}
	l.overdue = l.now.Add(probeTime)
	switch {
	case l.modern:
		l.probing = true
		l.send(jsonrpc.Request(probeID, "server/discover", l.about().Set(nil)))
	case l.opened && l.session:
		l.probing = true
		l.send(jsonrpc.Request(probeID, "ping", nil))
	case l.opened:
		l.probing = true
		l.send(jsonrpc.Request(greetID, "initialize", l.state.initialize))
	case l.first() != nil: // the failure of that request is the failure of the attempt
		r := l.first()
		l.probing, r.held, l.overdue = true, false, time.Time{}
		l.send(r.message)
	default: // no host has to be found
		l.away, l.confirmed, l.stopping = false, false, false
	}
}

// about returns the _meta of a modern client. With another identity the host would start servers
// for another client.
func (l *Link) about() protocol.Meta {
	meta, err := protocol.ParseMeta(l.last)
	if err != nil {
		meta = protocol.Meta{}
	}
	meta.Version, meta.LogLevel = l.version.String(), ""
	return meta
}

// first returns the client's initialize that waits for a host; nil for none.
func (l *Link) first() *request {
	for _, r := range l.requests {
		if r.held && r.method == "initialize" {
			return r
		}
	}
	return nil
}

// reinitialized handles the answer to the initialize of a new session.
func (l *Link) reinitialized(m jsonrpc.Message) {
	if !l.probing {
		return
	}
	name, _ := jsonedit.GetString(m.Result, "protocolVersion")
	switch {
	case m.Error != nil:
		l.refused(Event{Err: m.Error, Why: "the host refuses a new session: " + m.Error.Message})
		return
	case name != l.version.String():
		e := protocol.InvalidRequest("the host does not speak " + l.version.String() +
			" any more: start this client again")
		l.refused(Event{Err: protocol.Translate(e, l.version), Why: e.Message})
		return
	}
	l.session = true
	l.do(Effect{Do: Agree, Version: l.version})
	l.replay = replay{
		initialized: l.state.initialized, level: len(l.state.level) > 0, uris: slices.Clone(l.state.uris),
	}
	l.say("the session was opened again: the host had lost it")
	l.hostBack()
	if !l.state.initialized {
		return
	}
	for _, method := range l.state.listChanges { // the client missed all changes in the meantime
		l.push(method, nil)
	}
}

// refused ends all requests with the error of a host that refuses a session, and plans the next
// attempt.
func (l *Link) refused(e Event) {
	if e.Why != l.reason {
		l.say(e.Why)
	}
	l.probing, l.reason = false, e.Why
	for _, r := range l.all() {
		l.finish(r, jsonrpc.Failure(r.id, e.Err))
	}
	l.next = l.now.Add(max(refusedRetry, e.After))
}

// undelivered records a message that the host must receive again.
func (l *Link) undelivered(e Event) {
	switch e.Method {
	case "notifications/initialized":
		l.replay.initialized = true
	case "notifications/roots/list_changed":
		l.replay.roots = true
	}
	hasReply := !e.ID.IsZero() && l.session && e.Cause != Refused && e.Cause != SessionLost
	// the call of that question waits for the answer
	if hasReply && len(l.pendingErrors) < MaxQuestions {
		l.pendingErrors = append(l.pendingErrors, e.ID)
	}
	if e.Cause == SessionLost { // Disconnected follows
		l.away, l.session = true, false
		return
	}
	if !l.away && e.Cause != Refused && (e.Cause != Later || hasReply) && (l.opened || l.modern) {
		l.away, l.reason = true, e.Why
		// The host answered the last attempt, but accepts nothing.
		if l.tried.Add(firstRetry).After(l.now) {
			l.next = l.now.Add(l.pause())
			return
		}
		l.attempts = 0
		l.attempt()
	}
}

// resume sends the messages that the host has missed, and restores the state in a new session.
func (l *Link) resume() {
	if l.replay.initialized {
		l.send(jsonrpc.Notification("notifications/initialized", nil))
	}
	if l.replay.roots {
		l.send(jsonrpc.Notification("notifications/roots/list_changed", nil))
	}
	l.replay.initialized, l.replay.roots = false, false
	for _, id := range l.pendingErrors {
		e := &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the way to the client was lost"}
		l.send(jsonrpc.Failure(id, e))
	}
	l.pendingErrors = nil
	l.restore()
}

// restore sends the next requests that restore the state of a session.
func (l *Link) restore() {
	for len(l.replay.inFlight) < restoring {
		method, params := setLevel, l.state.level
		switch {
		case l.replay.level:
			l.replay.level, l.replay.levelBy = false, l.now.Add(levelTime)
		case len(l.replay.uris) > 0:
			method, params = "resources/subscribe", member("uri", jsonedit.Quote(l.replay.uris[0]))
			l.replay.uris = l.replay.uris[1:]
		default:
			return
		}
		l.replay.sent++
		id := jsonrpc.StringID("mcpd stdio restores " + jsonrpc.IntID(l.replay.sent).Raw())
		if l.replay.inFlight == nil {
			l.replay.inFlight = map[jsonrpc.ID]restoration{}
		}
		l.replay.inFlight[id] = restoration{method, params}
		l.send(jsonrpc.Request(id, method, params))
	}
}

// restored handles the outcome of a request that restores state.
func (l *Link) restored(m jsonrpc.Message) {
	what, ours := l.replay.inFlight[m.ID]
	if !ours {
		return
	}
	delete(l.replay.inFlight, m.ID)
	l.accepted()
	if m.Error != nil {
		request := what.method + " " + string(what.params)
		l.say("the host does not restore " + request + ": " + m.Error.Message)
	}
	uri, _ := jsonedit.GetString(what.params, "uri")
	if slices.Contains(l.state.uris, uri) { // the client missed earlier changes
		l.push("notifications/resources/updated", member("uri", jsonedit.Quote(uri)))
	}
	if !l.away {
		l.restore()
		l.flush()
	}
}

// unrestored handles the failure of a request that restores state. A request that did not reach the
// host is sent again when the host is back.
func (l *Link) unrestored(e Event) {
	what, ours := l.replay.inFlight[e.ID]
	if !ours {
		return
	}
	if e.Cause == Refused || e.Cause == Later {
		l.restored(jsonrpc.Failure(e.ID, e.Err))
		return
	}
	if e.Cause == Broken && !l.away { // otherwise the next attempt follows after a pause
		l.replay.breaks++
	}
	if l.replay.breaks > maxBreaks {
		l.restored(jsonrpc.Failure(e.ID, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: e.Why}))
		return
	}
	delete(l.replay.inFlight, e.ID)
	uri, _ := jsonedit.GetString(what.params, "uri")
	switch {
	case what.method == setLevel:
		l.replay.level = true
	case slices.Contains(l.state.uris, uri):
		l.replay.uris = append(l.replay.uris, uri)
	}
	l.missing(e)
}

// member returns an object with one member.
func member(name string, value jsontext.Value) jsontext.Value {
	object, _ := jsonedit.Set(nil, value, name) // Set turns an empty value into an object
	return object
}
