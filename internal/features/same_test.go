package features

import "strings"

// Clauses that allow or require differences within one era.
var (
	streams   = spec("2025-11-25/basic/transports", "Listening for Messages from the Server")
	sending   = spec("2025-11-25/basic/transports", "Sending Messages to the Server")
	subscribe = spec("2026-07-28/basic/patterns/subscriptions", "Receiving Notifications")
	changes   = spec("2026-07-28/changelog", "Major changes")
	meta      = spec("2026-07-28/basic/index", "_meta")
)

// sameEra are the differences that are allowed if client and server speak the same era.
var sameEra = []rule{{
	name:  "nothing is announced without a stream",
	cites: streams + ": a server that answers 405 has no way to say that anything changed",
	eras:  []string{same}, ways: []string{"stateless"}, features: []string{greeting},
	paths: []string{".capabilities.*.listChanged", ".capabilities.resources.subscribe"},
	holds: func(c cell, d difference) bool { return c.server.era == legacy && removed(c, d) },
}, {
	name: "nothing can be subscribed to without a stream", cites: streams,
	eras: []string{same}, ways: []string{"stateless"}, features: []string{"resource updates"}, step: 1,
	paths: whole,
	holds: func(c cell, d difference) bool {
		return c.server.era == legacy && refused(c, d) &&
			(d.path != ".error.code" || d.through == "-32601")
	},
}, {
	name: "mcpd keeps the log level where the server has no sessions",
	cites: spec("2025-11-25/server/utilities/logging", "Setting Log Level") +
		": the client has asked for info",
	eras: []string{same}, servers: []string{ts2.name}, ways: []string{"stateless"},
	features: []string{"log messages"}, step: 2,
	paths: []string{".events[*]", ".events[*].*"},
	holds: func(c cell, d difference) bool {
		return d.reference == `"a detail"` && d.through == `"a warning"` ||
			d.reference == `"debug"` && d.through == `"warning"` ||
			strings.HasPrefix(d.path, ".events[1]") && removed(c, d)
	},
}, {
	name: "mcpd leaves the stream of a cancelled call",
	cites: spec("2025-11-25/basic/utilities/cancellation", "Behavior Requirements") +
		": its answer is ignored; a server without sessions sees that alone",
	eras: []string{same}, ways: []string{"stateless"}, features: []string{"cancellation"}, step: 2,
	paths: []string{".result.content[0].text"},
	holds: func(_ cell, d difference) bool {
		return d.reference == `"false"` && d.through == `"true"`
	},
}, {
	name: "the end of a stream cancels no call",
	cites: sending + ": a disconnection should not be taken for it. The SDK says over a pipe alone " +
		"that it cancels",
	eras: []string{same}, clients: []string{mcpGo.name}, features: []string{"cancellation"}, step: 2,
	paths: []string{".result.content[0].text"},
	holds: func(c cell, d difference) bool {
		if c.client.over == overStdio {
			return c.server.way != "stdio" && d.reference == `"false"` && d.through == `"true"`
		}
		return c.client.era == legacy && d.reference == `"true"` && d.through == `"false"`
	},
}, {
	name:  "a refused answer ends no session",
	cites: sending + ": the server says so by its status, for which the SDK gives up its own",
	eras:  []string{same}, clients: []string{goSDK.name}, servers: []string{mcpGo.name},
	ways: []string{"stateless"}, features: questions,
	paths: []string{".error.message"},
	holds: func(c cell, d difference) bool {
		return c.client.era == legacy && strings.Contains(d.reference, "Bad Request") &&
			strings.Contains(d.through, "deadline exceeded")
	},
}, {
	name:  "notifications of a modern server name their subscription",
	cites: subscribe + ": the server leaves it out",
	eras:  []string{same}, servers: []string{mcpGo.name}, ways: []string{"stdio"},
	features: []string{"resource updates", "list changes"},
	paths:    subscription, holds: func(c cell, d difference) bool {
		return c.server.era == modern && added(c, d)
	},
}, {
	name: "a modern server has no tasks of 2025-11-25", cites: changes,
	eras: []string{same}, servers: []string{mcpGo.name}, features: []string{greeting},
	paths: []string{".capabilities.tasks", ".capabilities.tasks.*"},
	holds: func(c cell, d difference) bool { return c.server.era == modern && removed(c, d) },
}, {
	name:  "a modern call cannot be made as a task of 2025-11-25",
	cites: changes + ": mcpd leaves out that the client asks for it",
	eras:  []string{same}, clients: []string{ts2.name}, servers: []string{mcpGo.name},
	features: []string{"tasks"},
	paths:    []string{".error.*"},
	// Directly, a task exists and the SDK reports that its result has no content. Through mcpd no task
	// exists.
	holds: func(c cell, d difference) bool {
		return c.server.era == modern &&
			(removed(c, d) || strings.Contains(d.reference, "expected array") &&
				strings.Contains(d.through, "'status'"))
	},
}, {
	name: "a request that says nothing of itself is refused for that",
	cites: meta + ": -32602 over HTTP; over a pipe it is of a legacy session, by " +
		spec("2026-07-28/basic/versioning", "Era Detection"),
	eras: []string{same}, clients: []string{goSDK.name}, features: []string{"ping", "log messages"},
	step: 1, paths: []string{".error.code"},
	holds: func(c cell, d difference) bool {
		return c.client.era == modern &&
			d.through == map[string]string{overHTTP: "-32602", overStdio: "-32005"}[c.client.over]
	},
}, {
	name: "the status of an error that is not of HTTP is 200",
	cites: spec("2026-07-28/basic/transports/streamable-http", "Sending Messages") +
		": the SDK shows another",
	eras: []string{same}, clients: []string{goSDK.name}, ways: []string{"stateless"},
	features: []string{"errors"}, paths: []string{".error.message"},
	holds: func(c cell, d difference) bool {
		return c.client.era == modern && plainly(d.reference) == d.through
	},
}}

// plainly removes the HTTP status from the text of a Go SDK error.
func plainly(message string) string {
	method, rest, _ := strings.Cut(message, ": ")
	_, rest, _ = strings.Cut(rest, ": ")
	return method + ": " + strings.ReplaceAll(rest, ": rejected by transport: Bad Request", "")
}
