package parity

import "slices"

// kind is the transport of a server.
type kind string

const (
	stdio kind = "stdio"
	https kind = "Streamable HTTP" // at /mcp
	sse   kind = "HTTP+SSE"        // at /sse
)

// published is a server of the npm registry. In arguments, variables and steps, $DIR stands for the
// server's own folder, and $PORT for the port on which it listens.
type published struct {
	name  string // name in the configuration of mcpd
	pkg   string
	bin   string // its program, within the package
	kind  kind
	args  []string
	env   []string
	files map[string]string // initial content of $DIR
	quick bool              // every run surveys it
	steps []step
}

// servers returns the servers to survey, in the order of the configuration. No request of a survey
// needs a network: the tools that would call a service get only wrong arguments.
func servers(full bool) (all []published) {
	for _, group := range [][]published{reference, apps, services, tools, remotes} {
		for _, s := range group {
			if s.steps = append(slices.Clip(s.steps), wrongNames...); full || s.quick {
				all = append(all, s)
			}
		}
	}
	return all
}

// wrongNames are steps for every server.
var wrongNames = []step{
	call("no_such_tool", `{"a": 1}`),
	prompt("no_such_prompt", `{}`),
	read("nothing://is/here"),
	ping,
}

// reference are the reference servers of the specification's project.
var reference = []published{{
	name: "everything", pkg: "@modelcontextprotocol/server-everything", bin: "dist/index.js",
	kind: stdio, quick: true, steps: everything,
}, {
	name: "files", pkg: "@modelcontextprotocol/server-filesystem", bin: "dist/index.js",
	kind: stdio, args: []string{"$DIR"}, quick: true,
	files: map[string]string{"hello.txt": "hello\nfrom a file\n", "inner/note.md": "# Note\n"},
	steps: []step{
		call("list_allowed_directories", `{}`),
		call("read_text_file", `{"path": "$DIR/hello.txt"}`),
		call("read_text_file", `{"path": "$DIR/hello.txt", "head": 1}`),
		call("read_multiple_files", `{"paths": ["$DIR/hello.txt", "$DIR/missing.txt"]}`),
		call("read_media_file", `{"path": "$DIR/hello.txt"}`),
		call("list_directory", `{"path": "$DIR"}`),
		call("directory_tree", `{"path": "$DIR"}`),
		call("search_files", `{"path": "$DIR", "pattern": "**/*.md"}`),
		call("write_file", `{"path": "$DIR/new.txt", "content": "grüße 😀"}`),
		call(
			"edit_file", `{"path": "$DIR/new.txt", "edits": [{"oldText": "grüße", "newText": "hallo"}]}`,
		),
		call("move_file", `{"source": "$DIR/new.txt", "destination": "$DIR/moved.txt"}`),
		call("read_text_file", `{"path": "/etc/passwd"}`),
		call("read_text_file", `{"path": 5}`),
		call("read_text_file", `{}`),
	},
}, {
	name: "memory", pkg: "@modelcontextprotocol/server-memory", bin: "dist/index.js",
	kind: stdio, env: []string{"MEMORY_FILE_PATH=$DIR/memory.jsonl"}, quick: true,
	steps: []step{
		call(
			"create_entities",
			`{"entities": [{"name": "ann", "entityType": "person", "observations": ["sings"]}, {"name": "bob", "entityType": "person", "observations": []}]}`,
		),
		call(
			"create_relations", `{"relations": [{"from": "ann", "to": "bob", "relationType": "knows"}]}`,
		),
		call("add_observations", `{"observations": [{"entityName": "bob", "contents": ["plays"]}]}`),
		call("add_observations", `{"observations": [{"entityName": "nobody", "contents": ["x"]}]}`),
		call("search_nodes", `{"query": "sings"}`),
		call("open_nodes", `{"names": ["bob"]}`),
		call("read_graph", `{}`),
		read("memory://knowledge-graph"),
		call("delete_entities", `{"entityNames": ["ann"]}`),
		call("create_entities", `{"entities": "ann"}`),
		subscribe("memory://knowledge-graph"),
		call(
			"create_entities", `{"entities": [{"name": "cyd", "entityType": "person", "observations": []}]}`,
		).hears(1, updated, ""),
		unsubscribe("memory://knowledge-graph"),
		call("delete_entities", `{"entityNames": ["cyd"]}`).hears(0, updated, ""),
	},
}, {
	name: "thinking", pkg: "@modelcontextprotocol/server-sequential-thinking", bin: "dist/index.js",
	kind: stdio, steps: []step{
		call("sequentialthinking",
			`{"thought": "first", "nextThoughtNeeded": true, "thoughtNumber": 1, "totalThoughts": 2}`),
		call("sequentialthinking",
			`{"thought": "second", "nextThoughtNeeded": "false", "thoughtNumber": 2, "totalThoughts": 2}`),
		call("sequentialthinking", `{"thought": 1}`),
	},
}}

// everything are the steps for the everything server, on all of its transports.
var everything = []step{
	call("echo", `{"message": "grüße 😀 <&>\u2028"}`),
	call("get-sum", `{"a": 2, "b": 40}`),
	call("get-annotated-message", `{"messageType": "error", "includeImage": true}`),
	call("get-resource-links", `{"count": 3}`),
	call("get-resource-reference", `{"resourceType": "Text", "resourceId": 1}`),
	call("get-resource-reference", `{"resourceType": "Blob", "resourceId": 2}`),
	call("get-structured-content", `{"location": "Chicago"}`),
	call("get-tiny-image", `{}`),
	call("trigger-long-running-operation", `{"duration": 0.1, "steps": 2}`),
	call("trigger-sampling-request", `{"prompt": "a question", "maxTokens": 5}`),
	call("trigger-elicitation-request", `{}`),
	call("get-roots-list", `{}`),
	call("gzip-file-as-resource",
		`{"name": "a.gz", "data": "data:text/plain;base64,aGVsbG8=", "outputType": "resourceLink"}`),
	read("demo://resource/session/a.gz"),
	call("get-sum", `{"a": "x"}`),
	call("get-sum", `{}`),
	call("echo", `{"message": null}`),
	read("demo://resource/static/document/features.md"),
	read("demo://resource/dynamic/text/1"),
	read("demo://resource/dynamic/blob/2"),
	read("demo://resource/dynamic/text/none"),
	prompt("simple-prompt", `{}`),
	prompt("args-prompt", `{"city": "Paris", "state": "Texas"}`),
	prompt("args-prompt", `{}`),
	prompt("completable-prompt", `{"department": "Sales", "name": "David"}`),
	prompt("resource-prompt", `{"resourceType": "Text", "resourceId": "1"}`),
	complete("ref/prompt", "name", "completable-prompt", `{"name": "department", "value": "S"}`),
	complete("ref/resource", "uri", "demo://resource/dynamic/text/{resourceId}",
		`{"name": "resourceId", "value": "1"}`),
	complete("ref/prompt", "name", "no_such_prompt", `{"name": "x", "value": "1"}`),

	call("trigger-long-running-operation",
		`{"duration": 0.3, "steps": 3}`).withMeta(`{"progressToken": "steps"}`).hears(3, progress,
		`"steps"`),
	call("trigger-long-running-operation",
		`{"duration": 1, "steps": 2}`).withMeta(`{"progressToken": 7}`).cancelled(1, `"progressToken":7`),
	call("echo", `{"message": "after a call that was cancelled"}`),

	setLevel("debug"),
	subscribe(watched).hears(1, logged, "Received Subscribe"),
	call("toggle-subscriber-updates", `{}`).hears(1, updated, ""),
	unsubscribe(watched).hears(1, logged, "Received Unsubscribe"),
	call("toggle-subscriber-updates", `{}`),
	call("toggle-subscriber-updates", `{}`).hears(0, updated, ""),
	call("toggle-subscriber-updates", `{}`),
	call("toggle-simulated-logging",
		`{}`).withMeta(`{"io.modelcontextprotocol/logLevel": "debug"}`).hears(1, logged, "essage"),
	call("toggle-simulated-logging", `{}`),
	setLevel("alert"),
	subscribe(watched).hears(0, logged, "Received"),
	unsubscribe(watched),
	setLevel("none"),
}

// watched is a resource that the steps subscribe to.
const watched = "demo://resource/dynamic/text/3"
