package parity

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcpd/gateway/catalog"
)

// step is one request of a survey. A list step reads the list to its end.
type step struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
	Events *events         `json:"events,omitempty"` // nil for the result alone
}

// lists are the first steps of every survey. Member is the member of the result that has the items,
// and key is the member of an item that names it.
var lists = []struct{ method, name, key string }{
	{"tools/list", "tools", "name"},
	{"prompts/list", "prompts", "name"},
	{"resources/list", "resources", "uri"},
	{"resources/templates/list", "resourceTemplates", "uriTemplate"},
}

func listSteps() (steps []step) {
	for _, l := range lists {
		steps = append(steps, step{Method: l.method})
	}
	return steps
}

// ask returns a step with the given params.
func ask(method, params string, args ...any) step {
	return step{Method: method, Params: json.RawMessage(fmt.Sprintf(params, args...))}
}

func subscribe(uri string) step { return ask("resources/subscribe", `{"uri": %q}`, uri) }

func unsubscribe(uri string) step { return ask("resources/unsubscribe", `{"uri": %q}`, uri) }

func setLevel(level string) step { return ask("logging/setLevel", `{"level": %q}`, level) }

// ping has no params.
var ping = step{Method: "ping"}

// withMeta returns the step with _meta in its params.
func (s step) withMeta(meta string) step {
	s.Params = json.RawMessage(strings.TrimSuffix(string(s.Params), "}") + `, "_meta": ` + meta + "}")
	return s
}

func call(tool, arguments string) step {
	return ask("tools/call", `{"name": %q, "arguments": %s}`, tool, arguments)
}

func prompt(name, arguments string) step {
	return ask("prompts/get", `{"name": %q, "arguments": %s}`, name, arguments)
}

func read(uri string) step {
	return ask("resources/read", `{"uri": %q}`, uri)
}

func complete(kind, member, name, argument string) step {
	return ask("completion/complete", `{"ref": {"type": %q, %q: %q}, "argument": %s}`, kind, member,
		name, argument)
}

// String names the step in reports.
func (s step) String() string {
	if s.Params == nil {
		return s.Method
	}
	return s.Method + " " + string(s.Params)
}

// withDir replaces $DIR by a folder.
func withDir(dir string, steps []step) []step {
	steps = slices.Clone(steps)
	for i, s := range steps {
		if s.Params == nil {
			continue
		}
		steps[i].Params = json.RawMessage(strings.ReplaceAll(string(s.Params), "$DIR", dir))
	}
	return steps
}

// aggregated translates the names in a step for a server to the names in the aggregate. Owned has
// the resources and templates that the aggregate does not wrap.
func (s step) aggregated(server string, owned map[string]bool) step {
	if s.Params == nil {
		return s
	}
	var params map[string]any
	if err := json.Unmarshal(s.Params, &params); err != nil {
		panic(err)
	}
	rename := func(object map[string]any) {
		if name, ok := object["name"].(string); ok {
			object["name"] = catalog.External(server, name)
		}
		if uri, ok := object["uri"].(string); ok && !owned[uri] {
			object["uri"] = catalog.Wrap(server, uri)
			if strings.Contains(uri, "{") {
				object["uri"] = wrapTemplate(server, uri)
			}
		}
	}
	if rename(params); s.Method == "completion/complete" {
		rename(params["ref"].(map[string]any))
	}
	text, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	s.Params = text
	return s
}

// wrapTemplate returns the name under which the aggregate lists a template whose own name another
// server already uses.
func wrapTemplate(server, template string) string { return "mcpd://" + server + "/" + template }
