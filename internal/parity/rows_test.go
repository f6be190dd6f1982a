package parity

import (
	"strings"

	"mcpd/gateway/catalog"
)

// architecture returns a clause of our documentation.
func architecture(heading, text string) clause {
	return clause{page: "ARCHITECTURE.md", heading: heading, text: text}
}

const (
	names     = "Names in the aggregate"
	itself    = "What the aggregate says of itself"
	listeners = "Who hears what a server says"
)

// calls are the steps whose result the server itself makes.
var calls = []string{"tools/call", "prompts/get", "resources/read", "completion/complete"}

// rules are the allowed differences. The first one that applies counts.
var rules = []rule{{
	name:  "names are prefixed",
	cites: []clause{architecture(names, "a tool or prompt is `SERVER__NAME`")},
	quick: true, ways: []way{aggregate}, steps: []string{"tools/list", "prompts/list"},
	paths: []string{".items.*.name"},
	holds: func(a location, d difference) bool {
		own, ok := d.direct.(string)
		return ok && d.through == catalog.External(a.server.name, own)
	},
}, {
	name: "URIs of other servers are wrapped",
	cites: []clause{architecture(names,
		"a resource whose URI another server owns is `mcpd://SERVER/URI`, a page of MCP Apps "+
			"`ui://mcpd/SERVER/REST`")},
	quick: true, ways: []way{aggregate},
	steps: []string{
		"tools/list", "resources/list", "resources/templates/list", "tools/call", "prompts/get",
		"resources/read",
	},
	paths: []string{
		".items.*._meta.ui.resourceUri", ".items.*._meta.ui/resourceUri", ".items.*.uri",
		".items.*.uriTemplate",
		".result.content[*].uri", ".result.content[*].resource.uri",
		".result.messages[*].content.resource.uri",
		".result.contents[*].uri", ".error.data.uri", ".events[*].uri",
	},
	holds: func(a location, d difference) bool {
		own, ok := d.direct.(string)
		return ok && (d.through == catalog.Wrap(a.server.name, own) ||
			d.through == wrapTemplate(a.server.name, own))
	},
}, {
	name: "a cancelled call is answered",
	cites: []clause{{page: "2025-11-25/basic/utilities/cancellation", heading: "Behavior Requirements",
		text: "the sender ignores a response that arrives after the cancellation. One on a stream with " +
			"event ids keeps " +
			"clients from resuming the stream"}},
	quick: true, clients: []string{"TypeScript 1"}, steps: []string{"tools/call"},
	paths: []string{".events[1]"},
	holds: func(_ location, d difference) bool {
		return d.direct == absent{} && d.through == "an answer after the cancellation"
	},
}, {
	name:  "the aggregate is mcpd",
	cites: []clause{architecture(itself, "it introduces itself as mcpd")},
	quick: true, ways: []way{aggregate}, steps: []string{"greeting"},
	paths: []string{
		".serverInfo.name", ".serverInfo.version", ".serverInfo.title", ".serverInfo.description",
		".serverInfo.icons", ".serverInfo.websiteUrl",
	},
	holds: func(_ location, d difference) bool {
		switch d.path {
		case ".serverInfo.name":
			return d.through == "mcpd"
		case ".serverInfo.version":
			return d.through != absent{}
		}
		return d.through == absent{}
	},
}, {
	name:  "instructions of all servers",
	cites: []clause{architecture(itself, "instructions of all servers, each under a heading")},
	quick: true, ways: []way{aggregate}, steps: []string{"greeting"}, paths: []string{".instructions"},
	holds: func(a location, d difference) bool {
		all, _ := d.through.(string)
		own, _ := d.direct.(string)
		heading := "# " + a.server.name + "\n\n"
		if own == "" {
			return !strings.Contains("\n"+all, "\n"+heading)
		}
		return strings.Contains("\n\n"+all+"\n\n", "\n\n"+heading+strings.TrimSpace(own)+"\n\n")
	},
}, {
	name: "capabilities of all servers",
	cites: []clause{
		architecture(itself, "it declares what any of its servers declares, and that its lists change"),
	},
	quick: true, ways: []way{aggregate}, steps: []string{"greeting"},
	paths: []string{
		".capabilities.tools.listChanged", ".capabilities.prompts", ".capabilities.prompts.listChanged",
		".capabilities.resources", ".capabilities.resources.listChanged",
		".capabilities.resources.subscribe",
		".capabilities.completions", ".capabilities.logging", ".capabilities.tasks",
	},
	holds: func(a location, d difference) bool {
		if d.direct != any(absent{}) && d.direct != false {
			return false
		}
		return strings.HasSuffix(d.path, ".listChanged") && d.through == true || declared(a, d.path)
	},
}, {
	name:  "lists of all servers",
	cites: []clause{architecture(itself, "a server without a list adds nothing to it")},
	quick: true, ways: []way{aggregate},
	steps: []string{"prompts/list", "resources/list", "resources/templates/list"},
	paths: []string{".error", ".items", ".order"},
	holds: func(_ location, d difference) bool {
		if d.path == ".error" {
			failed, _ := d.direct.(map[string]any)
			return failed["code"] == -32601.0 && d.through == absent{}
		}
		return d.direct == absent{} && (short(d.through) == "{}" || short(d.through) == "[]")
	},
}, {
	name: "the server is named in results",
	cites: []clause{{page: "2026-07-28/basic/index", heading: "_meta",
		text: "every result has io.modelcontextprotocol/serverInfo",
		fact: fact{"ResultMetaObject", serverInfo, true}}},
	quick: true, clients: modern, steps: calls, paths: []string{".result._meta"},
	holds: func(a location, d difference) bool {
		through, _ := d.through.(map[string]any)
		return d.direct == absent{} && len(through) == 1 && sameServer(a, through[serverInfo])
	},
}, {
	name: "results have a type",
	cites: []clause{{page: "2026-07-28/basic/index", heading: "ResultType",
		text: "`resultType` is required",
		fact: fact{"Result", "resultType", true}}},
	quick: true, clients: []string{"Go"}, steps: calls, paths: []string{".result.resultType"},
	holds: func(_ location, d difference) bool {
		return d.direct == absent{} && d.through == "complete"
	},
}, {
	name: "results say how long they are good",
	cites: []clause{{page: "2026-07-28/server/utilities/caching", heading: "Cacheable Results",
		text: "`ttlMs` and `cacheScope` are required; nothing is cached for others",
		fact: fact{"ReadResourceResult", "ttlMs", true}}},
	quick: true, clients: modern, steps: []string{"resources/read"},
	paths: []string{".result.ttlMs", ".result.cacheScope"},
	holds: func(_ location, d difference) bool {
		// The Go SDK writes an empty scope.
		return (d.direct == absent{} || d.direct == "") && (d.through == 0.0 || d.through == "private")
	},
}, {
	name: "tools say nothing of tasks",
	cites: []clause{{page: "2026-07-28/schema", heading: "Tool",
		text: "there is no `execution`; tasks are an extension",
		fact: fact{"Tool", "execution", false}}},
	quick: true, clients: []string{"TypeScript 2"}, steps: []string{"tools/list"},
	paths: []string{".items.*.execution"},
	holds: func(_ location, d difference) bool { return d.through == absent{} },
}, {
	name: "tasks are an extension",
	cites: []clause{{page: "2026-07-28/changelog", heading: "Major changes",
		text: "tasks are moved out of the core into the extension `io.modelcontextprotocol/tasks`",
		fact: fact{"ServerCapabilities", "tasks", false}}},
	quick: true, clients: modern, steps: []string{"greeting"},
	paths: []string{".capabilities.tasks", ".capabilities.extensions"},
	holds: func(_ location, d difference) bool {
		if d.path == ".capabilities.tasks" {
			return d.through == absent{}
		}
		return d.direct == absent{} && short(d.through) == `{"io.modelcontextprotocol/tasks":{}}`
	},
}, {
	name: "there is no ping and no log level of a session",
	cites: []clause{
		{page: "2026-07-28/changelog", heading: "Major changes",
			text: "`ping` and `logging/setLevel` are removed; an SDK or mcpd refuses them"},
	},
	quick: true, clients: modern, steps: []string{"ping", "logging/setLevel"},
	paths: []string{
		".result", ".error", ".error.code", ".error.data", ".error.data.envelope", ".error.data.reason",
		".error.message", ".message",
	},
	holds: func(a location, _ difference) bool {
		text := short(a.through)
		return strings.Contains(text, "not supported by the negotiated protocol version") ||
			strings.Contains(text, "protocolVersion is missing")
	},
}, {
	name: "updates name their subscription",
	cites: []clause{{page: "2026-07-28/basic/patterns/subscriptions",
		heading: "Receiving Notifications",
		text:    "all that comes on a stream has io.modelcontextprotocol/subscriptionId"}},
	quick: true, clients: modern, steps: []string{"tools/call"}, paths: []string{".events[*]._meta"},
	holds: func(_ location, d difference) bool {
		through, _ := d.through.(map[string]any)
		return d.direct == absent{} && len(through) == 1 &&
			through["io.modelcontextprotocol/subscriptionId"] != nil
	},
}, {
	name: "log messages belong to a request",
	cites: []clause{{page: "2026-07-28/server/utilities/logging", heading: "Per-request log level",
		text: "none is delivered on the stream of a subscription, nor for a request that asks for none"}},
	quick: true, clients: modern, steps: []string{"resources/subscribe", "resources/unsubscribe"},
	paths: []string{".events[0]"},
	holds: func(_ location, d difference) bool {
		direct, _ := d.direct.(map[string]any)
		return direct["level"] == "info" && d.through == absent{}
	},
}, {
	name: "a log level that does not exist is -32602",
	cites: []clause{
		{page: "2025-11-25/server/utilities/logging", heading: "Error Handling",
			text: "invalid log level: -32602"},
	},
	quick: true, clients: []string{"TypeScript 1"}, steps: []string{"logging/setLevel"},
	paths: []string{".error.code", ".error.data", ".error.message"},
	holds: func(a location, _ difference) bool {
		return kindOf(a.through) == "-32602" && strings.Contains(short(a.through), "none")
	},
}, {
	name: "announcements need a stream",
	cites: []clause{{page: "2025-11-25/basic/transports",
		heading: "Listening for Messages from the Server",
		text:    "a server that answers 405 has no way to say that a list changed"}},
	ways: []way{ownEndpoint}, servers: []string{"runner-remote"}, steps: []string{"greeting"},
	paths: []string{".capabilities.tools.listChanged"},
	holds: func(_ location, d difference) bool { return d.direct == true && d.through == absent{} },
}, {
	name: "an unknown resource is -32002",
	cites: []clause{{page: "2025-11-25/server/resources", heading: "Error Handling",
		text: "the code is -32002"},
		{page: "2026-07-28/server/resources", heading: "Error Handling",
			text: "-32602, in which mcpd speaks to a server that has both"}},
	clients: []string{"TypeScript 1"}, servers: []string{"context7-remote"},
	steps: []string{"resources/read"}, paths: []string{".error.code", ".error.message"},
	holds: func(_ location, d difference) bool {
		direct, _ := d.direct.(string)
		return d.direct == -32602.0 && d.through == -32002.0 ||
			d.through == strings.Replace(direct, "-32602", "-32002", 1)
	},
}, {
	name: "nothing is asked outside of a request",
	cites: []clause{{page: "2026-07-28/basic/patterns/mrtr", heading: "Multi Round-Trip Requests",
		text: "a server asks within the result of a request; a legacy server that asks for roots when " +
			"it is started keeps the folders of its arguments"}},
	quick: true, clients: modern, servers: []string{"files"}, steps: []string{"tools/call"},
	paths: []string{".result.content[0].text", ".result.structuredContent.content"},
	holds: func(_ location, d difference) bool {
		through, _ := d.through.(string)
		return strings.ReplaceAll(through, "$BASE/files", "$BASE") == d.direct
	},
}, {
	name: "lines that are no JSON are skipped",
	cites: []clause{{page: "2025-11-25/basic/transports", heading: "stdio",
		text: "a server writes messages only. The Go SDK ends the connection at another line; the " +
			"TypeScript SDK and mcpd skip it"}},
	quick: true, clients: []string{"Go"}, servers: []string{"hello", "agent-files", "runner"},
	paths: []string{
		".capabilities", ".instructions", ".serverInfo", ".message", ".items", ".order",
		".result", ".error", ".error.code", ".error.message",
	},
	holds: func(a location, _ difference) bool { return a.broken && sameKind(a) },
}}
