package features

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// step is one request of a client. testdata/client.mjs and internal/tools/features/plan read its
// JSON.
type step struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
	// method of notifications that belong to the outcome
	Hear   string `json:"hear,omitempty"`
	Await  int    `json:"await,omitempty"` // how many of them the client waits for
	Cancel bool   `json:"cancel,omitempty"`
	Limit  int    `json:"limit,omitempty"` // milliseconds; 0 for the default limit
}

// feature is a row of the table.
type feature struct {
	name  string
	steps []step
	// works is a text that the outcome of the last step contains if the feature works. The table marks
	// a cell in which the feature does not work; there it does not work directly either.
	works string
}

// token asks for progress.
const token = `{"progressToken": "p"}`

func ask(method, params string, args ...any) step {
	return step{Method: method, Params: json.RawMessage(fmt.Sprintf(params, args...))}
}

func call(tool, arguments string) step { return callWith(tool, arguments, "{}") }

func callWith(tool, arguments, meta string) step {
	return ask("tools/call", `{"name": %q, "arguments": %s, "_meta": %s}`, tool, arguments, meta)
}

func (s step) hears(n int, method string) step {
	s.Hear, s.Await = "notifications/"+method, n
	return s
}

// cancelled returns the step with Cancel set: the client cancels the request when the expected
// notifications have arrived.
func (s step) cancelled() step {
	s.Cancel = true
	return s
}

// starting returns the step with a longer limit, because its request may have to start a program.
// In 2026-07-28 this is the first request.
func (s step) starting() step {
	s.Limit = 30_000
	return s
}

func complete(kind, member, name, argument, value string) step {
	return ask("completion/complete",
		`{"ref": {"type": %q, %q: %q}, "argument": {"name": %q, "value": %q}}`, kind, member, name,
		argument, value)
}

// features are the rows of the table, in the order in which a session tests them. $NAME stands for
// the name of the session.
var features = []feature{
	{"tools/call", []step{call("echo", `{"message": "grüße 😀"}`).starting()}, `"grüße 😀"`},
	{"structured content", []step{call("structured", `{}`)}, `{"degrees":21.5}`},
	{"errors", []step{
		call("fail", `{}`), call("missing", `{}`), call("echo", `{"message": 5}`),
		ask("resources/read", `{"uri": "test://nowhere"}`),
	}, `"error":{`},
	{"progress", []step{callWith("progress", `{}`, token).hears(3, "progress")}, `"step 3"`},
	{"log messages", []step{
		ask("logging/setLevel", `{"level": "info"}`),
		callWith("log", `{}`, `{"io.modelcontextprotocol/logLevel": "info"}`).hears(1, "message"),
	}, `"a warning"`},
	{"cancellation", []step{
		callWith("slow", `{"key": "$NAME"}`, token).hears(1, "progress").cancelled(),
		call("cancelled", `{"key": "$NAME"}`),
	}, `"true"`},
	{"resources", []step{
		{Method: "resources/list"}, {Method: "resources/templates/list"},
		ask("resources/read", `{"uri": "test://item/7"}`),
		ask("resources/read", `{"uri": "test://static"}`),
	}, `"contents of test://static"`},
	{"resource updates", []step{
		ask("resources/subscribe", `{"uri": "test://item/$NAME"}`),
		ask("resources/unsubscribe", `{"uri": "test://item/other"}`),
		call("touch", `{"uri": "test://item/$NAME"}`).hears(1, "resources/updated"),
	}, `"uri":"test://item/$NAME"`},
	{"list changes", []step{
		{Method: "listen"},
		call("grow", `{"name": "grown-$NAME"}`).hears(1, "tools/list_changed"),
		{Method: "tools/list"},
		call("shrink", `{"name": "grown-$NAME"}`).hears(1, "tools/list_changed"),
	}, `"events":[{`},
	{"pagination", []step{{Method: "prompts/list"}}, `"third"`},
	{"prompts", []step{ask("prompts/get", `{"name": "second", "arguments": {"city": "rome"}}`)},
		`"second rome"`},
	{"completion", []step{
		complete("ref/prompt", "name", "first", "city", "pa"),
		complete("ref/resource", "uri", "test://item/{id}", "id", "t"),
	}, `["two","three"]`},
	{"elicitation, form", []step{call("ask_form", `{}`)}, `"asked":[{`},
	{"elicitation, URL", []step{call("ask_url", `{}`)}, `"asked":[{`},
	{"sampling", []step{call("ask_model", `{}`)}, `"m: sampled"`},
	{"roots", []step{call("ask_roots", `{}`)}, `"file:///home"`},
	{"tasks", []step{ask("task", `{"name": "later", "arguments": {}}`)}, `"done later"`},
	{"ping", []step{{Method: "ping"}}, `"result":{}`},
}

// questions are the features for which a server asks its client. A legacy server without sessions
// gets no answer: the request that carries the answer reaches another instance, or is refused.
var questions = []string{"elicitation, form", "elicitation, URL", "sampling", "roots"}

// unansweredLimit is how long a client waits for a call whose question gets no answer, in
// milliseconds.
const unansweredLimit = 3000

// stepsOf returns all steps for a session with the given name at a server.
func stepsOf(name string, at server) (all []step) {
	for _, f := range features {
		for _, s := range f.steps {
			if at.way == "stateless" && at.era == legacy && slices.Contains(questions, f.name) {
				s.Limit = unansweredLimit
			}
			s.Params = json.RawMessage(strings.ReplaceAll(string(s.Params), "$NAME", name))
			all = append(all, s)
		}
	}
	return all
}
