package protocol

import (
	"maps"
	"slices"
)

// Side is one of the two ends of a connection.
type Side uint8

// The sides.
const (
	Client Side = iota + 1
	Server
)

// String is "client", "server" or "unknown".
func (s Side) String() string {
	switch s {
	case Client:
		return "client"
	case Server:
		return "server"
	}
	return "unknown"
}

// Peer is the other side.
func (s Side) Peer() Side {
	if s == Client {
		return Server
	}
	return Client
}

// cell says which side may send a method in one revision.
type cell uint8

// The cells. Their names are three letters wide, so that the columns of the table line up.
const (
	___ cell = iota // absent
	c2s             // the client
	s2c             // the server
	two             // both
	mrt             // no side: the method stands inside an input_required result
	ext             // an extension: requests from the client, notifications from the server
)

type kind uint8

const (
	req kind = iota
	ntf
)

// declarer names the side that must have declared the capability of a method.
type declarer uint8

const (
	nobody declarer = iota
	servers
	clients
	senders
	receivers
)

type route [versionCount]cell

// Method is a row of the method table.
type Method struct {
	kind     kind
	route    route
	declarer declarer
	needs    string // path of the capability that the method needs; empty for none
	action   string // completes "Cannot … before server initialization"
}

// methods is the method table: every method of every revision, and the side that may send it there.
// A test checks that the table equals the published schemas. The exceptions are tasks/update and
// notifications/tasks: only an extension defines them, and its schema is not among the published
// ones. Each row has the length of its own list of cells, so that the build fails if a row lacks
// the cell of a revision.
var methods = map[string]Method{
	//                                               24-11 25-03 25-06 25-11 26-07
	"completion/complete": {req, [...]cell{c2s, c2s, c2s, c2s, c2s}, servers, "completions",
		"complete arguments"},
	"elicitation/create": {req, [...]cell{___, ___, s2c, s2c, mrt}, clients, "elicitation",
		"elicit input"},
	"initialize": {req, [...]cell{c2s, c2s, c2s, c2s, ___}, nobody, "", "initialize"},
	"logging/setLevel": {req, [...]cell{c2s, c2s, c2s, c2s, ___}, servers, "logging",
		"set the log level"},
	"ping": {req, [...]cell{two, two, two, two, ___}, nobody, "", "ping"},
	"prompts/get": {req, [...]cell{c2s, c2s, c2s, c2s, c2s}, servers, "prompts",
		"get prompts"},
	"prompts/list": {req, [...]cell{c2s, c2s, c2s, c2s, c2s}, servers, "prompts",
		"list prompts"},
	"resources/list": {req, [...]cell{c2s, c2s, c2s, c2s, c2s}, servers, "resources",
		"list resources"},
	"resources/read": {req, [...]cell{c2s, c2s, c2s, c2s, c2s}, servers, "resources",
		"read resources"},
	"resources/subscribe": {req, [...]cell{c2s, c2s, c2s, c2s, ___}, servers,
		"resources.subscribe", "subscribe to resources"},
	"resources/templates/list": {req, [...]cell{c2s, c2s, c2s, c2s, c2s}, servers, "resources",
		"list resource templates"},
	"resources/unsubscribe": {req, [...]cell{c2s, c2s, c2s, c2s, ___}, servers, "resources.subscribe",
		"unsubscribe from resources"},
	"roots/list": {req, [...]cell{s2c, s2c, s2c, s2c, mrt}, clients, "roots",
		"list roots"},
	"sampling/createMessage": {req, [...]cell{s2c, s2c, s2c, s2c, mrt}, clients, "sampling",
		"create messages"},
	"server/discover":      {req, [...]cell{___, ___, ___, ___, c2s}, nobody, "", "discover"},
	"subscriptions/listen": {req, [...]cell{___, ___, ___, ___, c2s}, nobody, "", "listen"},
	"tasks/cancel": {req, [...]cell{___, ___, ___, two, ext}, receivers, "tasks.cancel",
		"cancel tasks"},
	"tasks/get":    {req, [...]cell{___, ___, ___, two, ext}, receivers, "tasks", "get tasks"},
	"tasks/list":   {req, [...]cell{___, ___, ___, two, ___}, receivers, "tasks.list", "list tasks"},
	"tasks/result": {req, [...]cell{___, ___, ___, two, ___}, receivers, "tasks", "get task results"},
	"tasks/update": {req, [...]cell{___, ___, ___, ___, ext}, receivers, "tasks", "update tasks"},
	"tools/call":   {req, [...]cell{c2s, c2s, c2s, c2s, c2s}, servers, "tools", "call tools"},
	"tools/list":   {req, [...]cell{c2s, c2s, c2s, c2s, c2s}, servers, "tools", "list tools"},

	"notifications/cancelled": {ntf, [...]cell{two, two, two, two, two}, nobody,
		"", "cancel"},
	"notifications/elicitation/complete": {ntf, [...]cell{___, ___, ___, s2c, ___}, clients,
		"elicitation.url", "complete an elicitation"},
	"notifications/initialized": {ntf, [...]cell{c2s, c2s, c2s, c2s, ___}, nobody, "",
		"finish initialization"},
	"notifications/message": {ntf, [...]cell{s2c, s2c, s2c, s2c, s2c}, servers,
		"logging", "log"},
	"notifications/progress": {ntf, [...]cell{two, two, two, two, s2c}, nobody, "",
		"report progress"},
	"notifications/prompts/list_changed": {ntf, [...]cell{s2c, s2c, s2c, s2c, s2c}, servers,
		"prompts.listChanged", "announce prompts"},
	"notifications/resources/list_changed": {ntf, [...]cell{s2c, s2c, s2c, s2c, s2c}, servers,
		"resources.listChanged", "announce resources"},
	"notifications/resources/updated": {ntf, [...]cell{s2c, s2c, s2c, s2c, s2c}, servers,
		"resources.subscribe", "announce updates"},
	"notifications/roots/list_changed": {ntf, [...]cell{c2s, c2s, c2s, c2s, ___}, clients,
		"roots.listChanged", "announce roots"},
	"notifications/subscriptions/acknowledged": {ntf, [...]cell{___, ___, ___, ___, s2c}, nobody, "",
		"acknowledge subscriptions"},
	"notifications/tasks": {ntf, [...]cell{___, ___, ___, ___, ext}, senders, "tasks",
		"report tasks"},
	"notifications/tasks/status": {ntf, [...]cell{___, ___, ___, two, ___}, senders, "tasks",
		"report tasks"},
	"notifications/tools/list_changed": {ntf, [...]cell{s2c, s2c, s2c, s2c, s2c}, servers,
		"tools.listChanged", "announce tools"},
}

// LookupMethod returns the row of a method of any revision, and whether it exists.
func LookupMethod(name string) (Method, bool) {
	m, ok := methods[name]
	return m, ok
}

// MethodNames lists the methods of all revisions in alphabetical order.
func MethodNames() []string { return slices.Sorted(maps.Keys(methods)) }

// Notification reports whether the method is a notification, which has no answer.
func (m Method) Notification() bool { return m.kind == ntf }

// MethodAction is the purpose of the method in words, for example "list resources".
func (m Method) Action() string { return m.action }

// Allows reports whether that side may send the method in that revision. A client may send the
// requests of an extension and a server its notifications; Gate.Check then verifies that both sides
// declared the extension.
func (m Method) Allows(v Version, from Side) bool {
	if !v.known() {
		return false
	}
	switch m.route[v-1] {
	case c2s:
		return from == Client
	case s2c:
		return from == Server
	case two:
		return from == Client || from == Server
	case ext:
		return from == Client && m.kind == req || from == Server && m.kind == ntf
	}
	return false
}

// Embedded reports whether the method stands inside an input_required result in that revision,
// instead of being a request of its own.
func (m Method) Embedded(v Version) bool { return v.known() && m.route[v-1] == mrt }

// Extension reports whether the method belongs to an extension in that revision.
func (m Method) Extension(v Version) bool { return v.known() && m.route[v-1] == ext }

// IsMethodAvailable reports whether either side may send the method in that revision. It is false
// for methods of an extension.
func IsMethodAvailable(method string, v Version) bool {
	m, ok := methods[method]
	return ok && !m.Extension(v) && (m.Allows(v, Client) || m.Allows(v, Server))
}

// MethodAction is the purpose of a method in words, for example "list resources". For an unknown
// method it is "use" and the name.
func MethodAction(method string) string {
	if m, ok := methods[method]; ok {
		return m.action
	}
	return "use " + truncate(method)
}
