package reconnect

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// The ids of the link's own requests. Clients count, or make up something random.
var (
	probeID = jsonrpc.StringID("mcpd stdio looks for its host")
	greetID = jsonrpc.StringID("mcpd stdio opens its session again")
)

// state is what a session of the host knows of its client, for the next session.
type state struct {
	hello       jsontext.Value // params of initialize
	initialized bool           // the client has sent that notification
	level       jsontext.Value // params of logging/setLevel
	uris        []string       // of resources that are subscribed to
	tells       []string       // the notifications of changed lists that the host has announced
}

// replay is what the connection is still owed.
type replay struct {
	initialized, roots bool
	level              bool
	uris               []string
	flying             map[jsonrpc.ID]restoration
	sent               uint64
	breaks             int       // how often a request that restores lost its connection
	levelBy            time.Time // until then requests wait for the level
}

// levelling reports whether the session does not have its log level yet. A request that is sent now
// might be executed before it has, and its log lines would be lost.
func (l *Link) levelling() bool {
	if !l.replay.levelBy.After(l.now) {
		return false
	}
	for _, what := range l.replay.flying {
		if what.method == setLevel {
			return true
		}
	}
	return l.replay.level
}

// restoration is a request that gives a session its state, and has no outcome yet.
type restoration struct {
	method string
	params jsontext.Value
}

const setLevel = "logging/setLevel"

// learn keeps what a request has changed in the session.
func (l *Link) learn(r *request, m jsonrpc.Message) {
	params := r.message.Params
	uri, _ := splice.GetString(params, "uri")
	switch r.method {
	case "initialize":
		l.greetedFirst(params, m.Result)
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

// greetedFirst keeps what client and host have agreed on.
func (l *Link) greetedFirst(params, result jsontext.Value) {
	name, _ := splice.GetString(result, "protocolVersion")
	v, known := protocol.ParseVersion(name)
	if !known {
		return // the client ends a session in a revision that nobody knows
	}
	l.opened, l.session, l.version = true, true, v
	l.state = state{hello: params, initialized: l.state.initialized} // which may have come meanwhile
	if changed, err := splice.Set(params, splice.Quote(name), "protocolVersion"); err == nil {
		l.state.hello = changed
	}
	for _, list := range []string{"tools", "prompts", "resources"} {
		if splice.Kind(result, "capabilities", list, "listChanged") == 't' {
			l.state.tells = append(l.state.tells, "notifications/"+list+"/list_changed")
		}
	}
	l.do(Effect{Do: Agree, Version: v})
}

// attempt looks for the host.
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
		l.send(jsonrpc.Request(greetID, "initialize", l.state.hello))
	case l.first() != nil: // its failure is that of the attempt
		r := l.first()
		l.probing, r.held, l.overdue = true, false, time.Time{}
		l.send(r.message)
	default: // nothing has to be found
		l.away, l.confirmed, l.stopping = false, false, false
	}
}

// about is what a modern client says of itself. A host that is asked by somebody else starts
// servers for somebody else.
func (l *Link) about() protocol.Meta {
	meta, err := protocol.ParseMeta(l.last)
	if err != nil {
		meta = protocol.Meta{}
	}
	meta.Version, meta.LogLevel = l.version.String(), ""
	return meta
}

// first is the client's initialize that waits for a host.
func (l *Link) first() *request {
	for _, r := range l.requests {
		if r.held && r.method == "initialize" {
			return r
		}
	}
	return nil
}

// greeted takes the answer to the initialize of a new session.
func (l *Link) greeted(m jsonrpc.Message) {
	if !l.probing {
		return
	}
	name, _ := splice.GetString(m.Result, "protocolVersion")
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
	l.back()
	if !l.state.initialized {
		return
	}
	for _, method := range l.state.tells { // whatever has changed meanwhile was told to nobody
		l.push(method, nil)
	}
}

// refused tells those who wait that the host refuses a session.
func (l *Link) refused(e Event) {
	if e.Why != l.why {
		l.say(e.Why)
	}
	l.probing, l.why = false, e.Why
	for _, r := range l.all() {
		l.finish(r, jsonrpc.Failure(r.id, e.Err))
	}
	l.next = l.now.Add(max(refusedRetry, e.After))
}

// undelivered notes what the host has to be told once more.
func (l *Link) undelivered(e Event) {
	switch e.Method {
	case "notifications/initialized":
		l.replay.initialized = true
	case "notifications/roots/list_changed":
		l.replay.roots = true
	}
	owes := !e.ID.IsZero() && l.session && e.Cause != Refused && e.Cause != SessionLost
	if owes && len(l.owed) < MaxQuestions { // the call behind the question waits for it
		l.owed = append(l.owed, e.ID)
	}
	if e.Cause == SessionLost { // Cut follows
		l.away, l.session = true, false
		return
	}
	if !l.away && e.Cause != Refused && (e.Cause != Later || owes) && (l.opened || l.modern) {
		l.away, l.why = true, e.Why
		if l.tried.Add(firstRetry).After(l.now) { // it answered, and took nothing
			l.next = l.now.Add(l.pause())
			return
		}
		l.attempts = 0
		l.attempt()
	}
}

// resume tells the host what it has missed, and gives a new session the state of the old one.
func (l *Link) resume() {
	if l.replay.initialized {
		l.send(jsonrpc.Notification("notifications/initialized", nil))
	}
	if l.replay.roots {
		l.send(jsonrpc.Notification("notifications/roots/list_changed", nil))
	}
	l.replay.initialized, l.replay.roots = false, false
	for _, id := range l.owed {
		e := &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the way to the client was lost"}
		l.send(jsonrpc.Failure(id, e))
	}
	l.owed = nil
	l.restore()
}

// restore sends the next requests that give a session its state.
func (l *Link) restore() {
	for len(l.replay.flying) < restoring {
		method, params := setLevel, l.state.level
		switch {
		case l.replay.level:
			l.replay.level, l.replay.levelBy = false, l.now.Add(levelTime)
		case len(l.replay.uris) > 0:
			method, params = "resources/subscribe", member("uri", splice.Quote(l.replay.uris[0]))
			l.replay.uris = l.replay.uris[1:]
		default:
			return
		}
		l.replay.sent++
		id := jsonrpc.StringID("mcpd stdio restores " + jsonrpc.IntID(l.replay.sent).Raw())
		if l.replay.flying == nil {
			l.replay.flying = map[jsonrpc.ID]restoration{}
		}
		l.replay.flying[id] = restoration{method, params}
		l.send(jsonrpc.Request(id, method, params))
	}
}

// restored takes the outcome of one of them.
func (l *Link) restored(m jsonrpc.Message) {
	what, ours := l.replay.flying[m.ID]
	if !ours {
		return
	}
	delete(l.replay.flying, m.ID)
	l.accepted()
	if m.Error != nil {
		request := what.method + " " + string(what.params)
		l.say("the host does not restore " + request + ": " + m.Error.Message)
	}
	uri, _ := splice.GetString(what.params, "uri")
	if slices.Contains(l.state.uris, uri) { // a change before this was told to nobody
		l.push("notifications/resources/updated", member("uri", splice.Quote(uri)))
	}
	if !l.away {
		l.restore()
		l.flush()
	}
}

// unrestored takes the failure of one of them. What did not reach the host is sent when it is back.
func (l *Link) unrestored(e Event) {
	what, ours := l.replay.flying[e.ID]
	if !ours {
		return
	}
	if e.Cause == Refused || e.Cause == Later {
		l.restored(jsonrpc.Failure(e.ID, e.Err))
		return
	}
	if e.Cause == Broken && !l.away { // else the next attempt is made after a pause
		l.replay.breaks++
	}
	if l.replay.breaks > maxBreaks {
		l.restored(jsonrpc.Failure(e.ID, &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: e.Why}))
		return
	}
	delete(l.replay.flying, e.ID)
	uri, _ := splice.GetString(what.params, "uri")
	switch {
	case what.method == setLevel:
		l.replay.level = true
	case slices.Contains(l.state.uris, uri):
		l.replay.uris = append(l.replay.uris, uri)
	}
	l.missing(e)
}

// member is an object with one member.
func member(name string, value jsontext.Value) jsontext.Value {
	object, _ := splice.Set(nil, value, name) // an empty value becomes an object
	return object
}
