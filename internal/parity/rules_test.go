package parity

import (
	"reflect"
	"strings"

	"mcpd/gateway/catalog"
)

// way is how a client reaches a server through mcpd.
type way string

const (
	own   way = "/SERVER/mcp" // the server's own endpoint
	joint way = "aggregate"   // the one endpoint of all servers of the tenant
)

// about is what a difference was found in.
type about struct {
	server   published
	sdk      string
	way      way
	step     string            // its method, or greeting
	known    map[string]string // the server's names by the aggregate's
	greeting any               // what the server said of itself directly
	broken   bool              // the direct connection had ended because of a line that is no JSON
}

// rule is a kind of difference that is right.
type rule struct {
	name  string
	cites string
	quick bool // it applies to the servers of every run
	holds func(about, difference) bool
}

// rules are the differences that are right. The first one that holds is the one that counts.
var rules = []rule{{
	name:  "names are prefixed",
	cites: "docs/ARCHITECTURE.md, Names in the aggregate: a tool or prompt is `SERVER__NAME`",
	quick: true,
	holds: func(a about, d difference) bool {
		own, ok := d.direct.(string)
		return ok && a.way == joint && strings.HasSuffix(a.step, "/list") && strings.HasSuffix(d.path, ".name") &&
			d.through == catalog.External(a.server.name, own)
	},
}, {
	name:  "URIs of other servers are wrapped",
	cites: "docs/ARCHITECTURE.md, Names in the aggregate: a resource whose URI another server owns is `mcpd://SERVER/URI`, a page of MCP Apps `ui://mcpd/SERVER/REST`",
	quick: true,
	holds: func(a about, d difference) bool {
		own, ok := d.direct.(string)
		return ok && a.way == joint && (d.through == catalog.Wrap(a.server.name, own) || d.through == wrapTemplate(a.server.name, own))
	},
}, {
	name:  "the aggregate is mcpd",
	cites: "docs/ARCHITECTURE.md, What the aggregate says of itself: it introduces itself as mcpd",
	quick: true,
	holds: func(a about, d difference) bool {
		return a.way == joint && a.step == "greeting" && strings.HasPrefix(d.path, ".serverInfo")
	},
}, {
	name:  "instructions of all servers",
	cites: "docs/ARCHITECTURE.md, What the aggregate says of itself: instructions of all servers, each under a heading",
	quick: true,
	holds: func(a about, d difference) bool {
		if a.way != joint || a.step != "greeting" || d.path != ".instructions" {
			return false
		}
		all, _ := d.through.(string)
		own, _ := d.direct.(string)
		heading := "# " + a.server.name + "\n\n"
		if own == "" {
			return !strings.Contains("\n"+all, "\n"+heading)
		}
		return strings.Contains("\n\n"+all+"\n\n", "\n\n"+heading+strings.TrimSpace(own)+"\n\n")
	},
}, {
	name:  "capabilities of all servers",
	cites: "docs/ARCHITECTURE.md, What the aggregate says of itself: it declares what any of its servers declares, and that its lists change",
	quick: true,
	holds: func(a about, d difference) bool {
		return a.way == joint && a.step == "greeting" && strings.HasPrefix(d.path, ".capabilities.") &&
			(d.direct == any(absent{}) || d.direct == false && d.through == true)
	},
}, {
	name:  "lists of all servers",
	cites: "docs/ARCHITECTURE.md, What the aggregate says of itself: a server without a list adds nothing to it",
	quick: true,
	holds: func(a about, d difference) bool {
		if a.way != joint || !strings.HasSuffix(a.step, "/list") {
			return false
		}
		switch d.path {
		case ".error":
			failed, _ := d.direct.(map[string]any)
			return failed["code"] == float64(-32601) && d.through == absent{}
		case ".items", ".order":
			return d.direct == absent{} && (short(d.through) == "{}" || short(d.through) == "[]")
		}
		return false
	},
}, {
	name:  "capabilities are agreed",
	cites: "2025-11-25 §basic/lifecycle, Operation: only capabilities that were negotiated are used",
	quick: true,
	holds: func(a about, d difference) bool {
		text, _ := d.through.(string)
		data, _ := d.through.(map[string]any)
		return a.way == own && d.path == ".error.message" && strings.Contains(text, "capability \"") && strings.Contains(text, "is not supported") ||
			d.path == ".error.data" && data["reason"] == "capability_not_supported"
	},
}, {
	name:  "the server is named in results",
	cites: "2026-07-28 §basic, _meta: io.modelcontextprotocol/serverInfo",
	quick: true,
	holds: func(a about, d difference) bool {
		if !modern(a) || d.direct != any(absent{}) {
			return false
		}
		switch through := d.through.(type) {
		case map[string]any:
			if d.path == ".result._meta" && len(through) == 1 {
				return sameServer(a, through[serverInfo])
			}
			return d.path == ".result._meta."+serverInfo && sameServer(a, through)
		}
		return false
	},
}, {
	name:  "results have a type",
	cites: "2026-07-28 §basic, Results: resultType",
	quick: true,
	holds: func(a about, d difference) bool {
		return modern(a) && d.path == ".result.resultType" && d.direct == absent{} && d.through == "complete"
	},
}, {
	name:  "results say how long they are good",
	cites: "2026-07-28 §server/utilities/caching: ttlMs and cacheScope are required; nothing is cached for others",
	quick: true,
	holds: func(a about, d difference) bool {
		return modern(a) && (d.path == ".result.ttlMs" && d.through == 0.0 || d.path == ".result.cacheScope" && d.through == "private")
	},
}, {
	name:  "tools say nothing of tasks",
	cites: "2026-07-28 §schema, Tool: there is no execution; tasks are an extension",
	quick: true,
	holds: func(a about, d difference) bool {
		return modern(a) && a.step == "tools/list" && strings.HasSuffix(d.path, ".execution") && d.through == absent{}
	},
}, {
	name:  "tasks are an extension",
	cites: "2026-07-28 §extensions/tasks: the capability is extensions[\"io.modelcontextprotocol/tasks\"]",
	quick: true,
	holds: func(a about, d difference) bool {
		return modern(a) && a.step == "greeting" &&
			(d.path == ".capabilities.tasks" && d.through == absent{} || d.path == ".capabilities.extensions" && d.direct == absent{} && short(d.through) == `{"io.modelcontextprotocol/tasks":{}}`)
	},
}, {
	name:  "a missing method is 404",
	cites: "2026-07-28 §basic/transports/streamable-http: the status of a method that is not there is 404, which the SDKs show; here one of a capability that the server does not declare",
	quick: true,
	holds: func(a about, d difference) bool {
		text := short(d.through)
		return modern(a) && a.way == own && (d.path == ".error.code" && d.direct == -32601.0 && d.through == "CLIENT_HTTP_NOT_IMPLEMENTED" ||
			d.path == ".error.data" && d.direct == absent{} && strings.Contains(text, `{"status":404`) && strings.Contains(text, "capability_not_supported") ||
			d.path == ".error.message" && strings.Contains(text, "is not supported") && (strings.Contains(text, "rejected by transport: Not Found") || strings.Contains(text, "Error POSTing to endpoint")))
	},
}, {
	name:  "announcements need a stream",
	cites: "2025-11-25 §basic/transports, Listening for Messages from the Server: a server that answers 405 has no way to say that a list changed",
	holds: func(a about, d difference) bool {
		return a.step == "greeting" && a.server.kind == https && strings.HasSuffix(d.path, ".listChanged") && d.direct == true && d.through == absent{}
	},
}, {
	name:  "an unknown resource is -32002",
	cites: "2025-11-25 §server/resources, Error Handling; 2026-07-28, which mcpd speaks to a server that has both, says -32602",
	holds: func(a about, d difference) bool {
		if modern(a) || a.step != "resources/read" {
			return false
		}
		direct, _ := d.direct.(string)
		return d.path == ".error.code" && d.direct == -32602.0 && d.through == -32002.0 ||
			d.path == ".error.message" && d.through == strings.Replace(direct, "-32602", "-32002", 1)
	},
}, {
	name:  "questions belong to a call",
	cites: "docs/ARCHITECTURE.md, Who hears what a server says: roots/list outside of a call is refused, so a server keeps the folders of its arguments",
	quick: true,
	holds: func(a about, d difference) bool {
		through, _ := d.through.(string)
		return a.server.name == "files" && strings.ReplaceAll(through, "$BASE/files", "$BASE") == d.direct
	},
}, {
	name:  "lines that are no JSON are skipped",
	cites: "2025-11-25 §basic/transports, stdio: a server writes messages only. The Go SDK ends the connection at another line, the TypeScript SDK and mcpd skip it",
	quick: true,
	holds: func(a about, d difference) bool {
		return a.broken && a.server.kind == stdio
	},
}}

// serverInfo is the member of _meta that names the server.
const serverInfo = "io.modelcontextprotocol/serverInfo"

// sameServer says that a description has all that the server said of itself directly. The Go SDK
// drops members that it does not know from that.
func sameServer(a about, said any) bool {
	greeting, _ := a.greeting.(map[string]any)
	of, _ := greeting["serverInfo"].(map[string]any)
	through, _ := said.(map[string]any)
	for name, value := range of {
		if !reflect.DeepEqual(through[name], value) {
			return false
		}
	}
	return len(through) > 0
}

// modern says that the client speaks 2026-07-28 to mcpd, which all do that know it.
func modern(a about) bool { return a.sdk != "TypeScript 1" }
