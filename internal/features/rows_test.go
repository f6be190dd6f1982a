package features

import (
	"strconv"
	"strings"
)

// The pairs of eras.
const (
	same     = "same era"
	upward   = "legacy to modern" // a legacy client and a modern server
	downward = "modern to legacy"
)

// site is the base URL of the specification.
const site = "https://modelcontextprotocol.io/specification/"

// spec returns a link to a clause of the specification.
func spec(page, heading string) string {
	revision, path, _ := strings.Cut(page, "/")
	anchor := strings.ReplaceAll(strings.ToLower(heading), " ", "-")
	return "[" + revision + " §" + path + ", " + heading + "](" + site + page + "#" + anchor + ")"
}

// bridge returns a reference to a row of the bridge table (§10 of the protocol matrix).
func bridge(row string) string { return "bridge table " + row }

func added(_ cell, d difference) bool   { return d.reference == "" && d.through != "" }
func removed(_ cell, d difference) bool { return d.reference != "" && d.through == "" }

// refused reports whether a request was refused that the reference answers.
func refused(_ cell, d difference) bool {
	return d.path == ".result" && d.through == "" ||
		strings.HasPrefix(d.path, ".error") && d.reference == ""
}

// answered reports whether a request was answered that the reference refuses.
func answered(_ cell, d difference) bool {
	return d.path == ".result" && d.through == "{}" ||
		strings.HasPrefix(d.path, ".error") && d.through == ""
}

var (
	serverInfo   = []string{".result._meta", ".result._meta.io.modelcontextprotocol/serverInfo*"}
	caching      = []string{".result.ttlMs", ".result.cacheScope"}
	subscription = []string{
		".events[*]._meta", ".events[*]._meta.io.modelcontextprotocol/subscriptionId",
	}
	whole = []string{".result", ".error", ".error.*"}
	// features with results that clients may cache
	lists = []string{"resources", "list changes", "pagination"}
)

// rules are the allowed differences. The first one that applies counts.
var rules = append(bridged, sameEra...)

// bridged are the differences that mcpd makes between two eras.
var bridged = []rule{{
	name:  "results name the server",
	cites: bridge("10.2") + ", " + spec("2026-07-28/basic/index", "_meta"),
	eras:  []string{downward}, paths: serverInfo, holds: added,
}, {
	name:  "results do not name the server",
	cites: bridge("10.2") + ": legacy revisions name it in the handshake",
	eras:  []string{upward}, paths: serverInfo, holds: removed,
}, {
	name: "results have a type", cites: spec("2026-07-28/basic/index", "ResultType"),
	eras: []string{downward}, clients: []string{goSDK.name, mcpGo.name},
	paths: []string{".result.resultType"},
	holds: func(_ cell, d difference) bool { return d.reference == "" && d.through == `"complete"` },
}, {
	name: "results have no type", cites: bridge("10.4") + ": fields of one revision only are left out",
	eras: []string{upward}, paths: []string{".result.resultType"}, holds: removed,
}, {
	name:  "results say how long they are good",
	cites: bridge("10.3") + ": of a legacy server, not at all, and to nobody else",
	eras:  []string{downward}, features: lists, paths: caching,
	holds: func(_ cell, d difference) bool { return d.through == "0" || d.through == `"private"` },
}, {
	name: "results do not say how long they are good", cites: bridge("10.3") + ": hints are stripped",
	eras: []string{upward}, features: lists, paths: caching,
	// the Go SDK writes an empty scope
	holds: func(_ cell, d difference) bool { return d.through == "" || d.through == `""` },
}, {
	name: "notifications name their subscription", cites: bridge("10.8, 10.9"),
	eras: []string{downward}, features: []string{"resource updates", "list changes"},
	paths: subscription, holds: added,
}, {
	name: "notifications name no subscription", cites: bridge("10.8, 10.9"),
	eras: []string{upward}, features: []string{"resource updates", "list changes"},
	paths: subscription, holds: removed,
}, {
	name:  "tools say nothing of tasks",
	cites: bridge("10.14") + ": tasks of 2026-07-28 are an extension",
	eras:  []string{downward}, servers: []string{ts1.name, mcpGo.name},
	features: []string{"list changes"}, step: 3,
	paths: []string{".result.tools[*].execution", ".result.tools[*].execution.taskSupport"},
	holds: removed,
}, {
	name: "servers with tasks have the extension for them", cites: bridge("10.14"),
	eras: []string{downward}, servers: []string{ts1.name, mcpGo.name}, features: []string{greeting},
	paths: []string{".capabilities.extensions",
		".capabilities.extensions.io.modelcontextprotocol/tasks"}, holds: added,
}, {
	name: "servers have no tasks of 2025-11-25", cites: bridge("10.14"),
	eras: []string{downward}, servers: []string{ts1.name, mcpGo.name}, features: []string{greeting},
	paths: []string{".capabilities.tasks", ".capabilities.tasks.*"}, holds: removed,
}, {
	name: "calls cannot be made as tasks of 2025-11-25", cites: bridge("10.14"),
	eras: []string{downward}, servers: []string{ts1.name, mcpGo.name}, features: []string{"tasks"},
	paths: []string{".result", ".result.*", ".error", ".error.*"},
	holds: func(c cell, d difference) bool { return refused(c, d) || removed(c, d) },
}, {
	name:  "the end of a stream cancels its call",
	cites: spec("2026-07-28/basic/patterns/cancellation", "Transport-Specific Cancellation"),
	eras:  []string{downward}, clients: []string{ts2.name, mcpGo.name},
	features: []string{"cancellation"}, step: 2,
	paths: []string{".result.content[0].text"},
	holds: func(_ cell, d difference) bool {
		return d.reference == `"false"` && d.through == `"true"`
	},
}, {
	name: "an unknown resource is -32602", cites: bridge("10.16"),
	eras: []string{downward}, servers: []string{mcpGo.name}, features: []string{"errors"}, step: 4,
	paths: []string{".error.code", ".error.message", ".error.data", ".error.data.uri"},
	holds: func(c cell, d difference) bool {
		return d.reference == "-32002" && d.through == "-32602" ||
			d.path == ".error.message" || added(c, d)
	},
}, {
	name: "a question with a URL has no id", cites: bridge("10.11"),
	eras: []string{downward}, features: []string{"elicitation, URL"},
	paths: []string{".asked[0].params.elicitationId"}, holds: removed,
}, {
	name: "a question with a URL has an id", cites: bridge("10.10") + ": legacy revisions require one",
	eras: []string{upward}, features: []string{"elicitation, URL"},
	paths: []string{".asked[0].params.elicitationId"},
	holds: func(_ cell, d difference) bool { return strings.HasPrefix(d.through, `"mcpd-`) },
}, {
	name: "an unknown resource is -32002", cites: bridge("10.16"),
	eras: []string{upward}, features: []string{"errors"}, step: 4,
	paths: []string{".error.code", ".error.message"},
	holds: func(c cell, d difference) bool {
		// mcp-go has its own text for each code
		return d.reference == "-32602" && d.through == "-32002" || inWords(c, d)
	},
}, {
	name: "errors have a status of HTTP, which this client names", cites: bridge("10.16"),
	eras: []string{upward}, clients: []string{goSDK.name}, ways: []string{"stateless"},
	features: []string{"errors"},
	paths:    []string{".error.message"},
	holds: func(_ cell, d difference) bool {
		return strings.Contains(d.reference, "rejected by transport: Bad Request")
	},
}, {
	name: "an error code that no server of 2026-07-28 has is -32603", cites: bridge("10.16"),
	eras: []string{downward}, servers: []string{goSDK.name}, ways: []string{"stateless"},
	features: []string{"sampling", "roots"},
	paths: []string{
		".error.code", ".error.data", ".error.data.original", ".error.data.original.code",
		".error.message",
	},
	holds: func(c cell, d difference) bool {
		return (d.reference == "-32005" || d.reference == "") && d.through == "-32603" || added(c, d) ||
			inWords(c, d)
	},
}, {
	name: "announcements need a stream",
	cites: bridge("10.8, 10.9") + ", " +
		spec("2025-11-25/basic/transports", "Listening for Messages from the Server"),
	eras: []string{downward}, ways: []string{"stateless"}, features: []string{greeting},
	holds: removed,
	paths: []string{".capabilities.*.listChanged", ".capabilities.resources.subscribe"},
}, {
	name: "a resource is not watched without a stream", cites: bridge("10.9"),
	eras: []string{downward}, clients: []string{ts2.name}, ways: []string{"stateless"},
	features: []string{"resource updates"}, step: 1,
	paths: whole, holds: refused,
}, {
	name: "a question has no _meta", cites: bridge("10.11"),
	eras: []string{downward}, servers: []string{ts2.name},
	features: []string{"elicitation, form", "elicitation, URL", "sampling"},
	paths:    []string{".asked[0].params._meta", ".asked[0].params._meta.progressToken"},
	holds:    removed,
}, {
	name:  "a call hears nothing below the level that it asks for, although the server keeps none",
	cites: bridge("10.7"),
	eras:  []string{downward}, servers: []string{ts2.name}, ways: []string{"stateless"},
	features: []string{"log messages"}, step: 2,
	paths: []string{".events[*"},
	holds: func(c cell, d difference) bool {
		return d.reference == `"a detail"` && d.through == `"a warning"` ||
			d.reference == `"debug"` && d.through == `"warning"` ||
			strings.HasPrefix(d.path, ".events[1]") && removed(c, d)
	},
}, {
	name: "a client that hangs up cancels nothing",
	cites: bridge("10.6") + ", " +
		spec("2025-11-25/basic/transports", "Sending Messages to the Server"),
	eras: []string{upward}, clients: []string{mcpGo.name}, features: []string{"cancellation"},
	step:  2,
	paths: []string{".result.content[0].text"},
	holds: func(c cell, d difference) bool {
		return c.client.over == overHTTP && d.reference == `"true"` && d.through == `"false"`
	},
}, {
	name: "there are no tasks of 2025-11-25", cites: bridge("10.14"),
	eras: []string{upward}, clients: []string{mcpGo.name}, servers: []string{mcpGo.name},
	features: []string{greeting},
	paths:    []string{".capabilities.tasks", ".capabilities.tasks.*"}, holds: removed,
}, {
	name: "a tool says that it may be called as a task, which means nothing of a server without " +
		"tasks",
	cites: spec("2025-11-25/basic/utilities/tasks", "Tool-Level Negotiation"),
	eras:  []string{upward}, clients: []string{ts1.name, ts2.name}, servers: []string{mcpGo.name},
	features: []string{"list changes"}, step: 3,
	paths: []string{".result.tools[*].execution", ".result.tools[*].execution.taskSupport"},
	holds: added,
}, {
	name: "no call is made as a task", cites: bridge("10.14"),
	eras: []string{upward}, clients: []string{ts1.name, ts2.name}, servers: []string{mcpGo.name},
	features: []string{"tasks"},
	paths:    []string{".error.code", ".error.data", ".error.data.method", ".error.message"},
	// The SDK reports the missing task in its own words.
	holds: func(c cell, d difference) bool { return removed(c, d) || d.path == ".error.message" },
}, {
	name: "a call whose server refuses an answer ends some seconds later; this client by itself " +
		"ends its session",
	cites: bridge("10.11") + ", " +
		spec("2025-11-25/basic/transports", "Sending Messages to the Server"),
	eras: []string{downward}, clients: []string{goSDK.name}, servers: []string{mcpGo.name},
	ways:     []string{"stateless"},
	features: []string{"elicitation, form", "elicitation, URL"}, paths: []string{".error.message"},
	holds: func(_ cell, d difference) bool {
		return strings.Contains(d.reference, "Bad Request") && d.through == strconv.Quote(timedOut)
	},
}, {
	name: "a question has params", cites: bridge("10.10") + ": requests to the client have params",
	eras: []string{upward}, clients: []string{goSDK.name}, servers: []string{mcpGo.name},
	features: []string{"roots"},
	paths:    []string{".error", ".error.message", ".result", ".result.*"},
	holds: func(c cell, d difference) bool {
		return strings.HasPrefix(d.path, ".error") && removed(c, d) ||
			strings.HasPrefix(d.path, ".result") && added(c, d)
	},
}, {
	name:  "there is no ping",
	cites: bridge("10.15") + ", " + spec("2026-07-28/changelog", "Major changes"),
	eras:  []string{same, downward}, features: []string{"ping"}, paths: whole,
	holds: func(c cell, d difference) bool {
		return c.client.era == modern && (refused(c, d) || otherWords(c, d))
	},
}, {
	name: "mcpd answers ping", cites: bridge("10.15"),
	eras: []string{upward}, features: []string{"ping"}, paths: whole, holds: answered,
}, {
	name:  "sessions have no log level",
	cites: bridge("10.7") + ", " + spec("2026-07-28/changelog", "Major changes"),
	eras:  []string{same, downward}, features: []string{"log messages"}, step: 1, paths: whole,
	holds: func(c cell, d difference) bool {
		return c.client.era == modern && (refused(c, d) || otherWords(c, d))
	},
}, {
	name: "mcpd keeps the log level", cites: bridge("10.7"),
	eras: []string{upward}, features: []string{"log messages"}, step: 1, paths: whole,
	holds: answered,
}}

// inWords reports whether a difference is only the text by which mcp-go describes another code.
func inWords(c cell, d difference) bool {
	return d.path == ".error.message" && c.client.sdk == mcpGo
}

// otherWords reports whether two refusals differ only in text or data. Equal codes are no
// difference.
func otherWords(_ cell, d difference) bool {
	return d.path == ".error.message" || strings.HasPrefix(d.path, ".error.data")
}
