package demo

import (
	"regexp"
	"strings"
	"testing"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// toolName is the form of names that 2025-11-25 §server/tools and the conformance suite allow.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,64}$`)

func TestTablesKeepTheirPromises(t *testing.T) {
	names := map[string]bool{}
	for _, row := range tools {
		if !toolName.MatchString(row.name) || names[row.name] || row.description == "" ||
			row.title == "" {
			t.Errorf("tool %q: bad or repeated name, or no title or description", row.name)
		}
		names[row.name] = true
		headers := map[string]bool{}
		for _, p := range row.params {
			if h := strings.ToLower(p.header); h != "" && (headers[h] || !headerName.MatchString(h)) {
				t.Errorf("tool %s: bad or repeated header %q", row.name, p.header)
			} else {
				headers[h] = true
			}
		}
		checkSteps(t, row.name, row.steps)
	}
	for _, row := range prompts {
		checkSteps(t, row.name, row.steps())
	}
	for _, row := range resources {
		if got, ok := findResource(row.uri); !ok || got.name != row.name {
			t.Errorf("resource %s is found as %s", row.uri, got.name)
		}
	}
	for _, row := range templates {
		for _, value := range row.values {
			if got, ok := row.match(row.prefix + value + row.suffix); !ok || got != value {
				t.Errorf("template %s does not match its value %q", row.uriTemplate(), value)
			}
		}
	}
	for _, row := range prompts {
		if row.description == "" {
			t.Errorf("prompt %s: no description", row.name)
		}
	}
	first := play(t, "hello 2025-11-25 {}\n> "+`{"id":1,"method":"tools/call","params":{"name":"`+
		tools[0].name+`","arguments":{}}}`)
	if _, failed := jsonedit.Get(first.sent[0].message.Result, "isError"); failed {
		t.Errorf("the first tool, %s, does not succeed without arguments", tools[0].name)
	}
}

// checkSteps checks that the steps end the call, and that no two inputs have the same key. Before a
// question there must be no step with an effect, because a second round repeats it; questions in a
// task are exempt.
func checkSteps(t *testing.T, name string, steps []step) {
	t.Helper()
	switch steps[len(steps)-1].(type) {
	case answer, protocolError:
	default:
		t.Errorf("%s: the last step does not end the call", name)
	}
	keys := map[string]bool{}
	harmless, detached := true, false
	for _, s := range steps {
		switch s := s.(type) {
		case needs:
		case inTask:
			detached = true
		case ask:
			if !harmless {
				t.Errorf("%s: asks after it did something", name)
			}
			for _, in := range s.inputs {
				if keys[in.key] {
					t.Errorf("%s: key %s is used twice", name, in.key)
				}
				keys[in.key] = true
			}
			if s.sealed && detached {
				t.Errorf("%s: a task has no state", name)
			}
		default:
			harmless = false
		}
	}
}

// headerName is the form of a name after Mcp-Param- (SEP-2243).
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9a-z-]+$")

// S1-17: in each revision, every declared capability is answered or announced, and every answered
// method is declared.
func TestCapabilitiesAreTheMethods(t *testing.T) {
	needs := map[string]string{
		"logging/setLevel": "logging", "completion/complete": "completions",
		"tools/list": "tools", "tools/call": "tools", "prompts/list": "prompts", "prompts/get": "prompts",
		"resources/list": "resources", "resources/templates/list": "resources",
		"resources/read":      "resources",
		"resources/subscribe": "resources.subscribe", "resources/unsubscribe": "resources.subscribe",
		"tasks/get": tasksCapability, "tasks/update": tasksCapability, "tasks/cancel": tasksCapability,
		"tasks/result": "tasks", "tasks/list": "tasks.list",
	}
	for _, v := range protocol.Versions() {
		for name := range methods {
			m, known := protocol.LookupMethod(name)
			if !known {
				t.Errorf("%s is in no revision", name)
			}
			if !m.Allows(v, protocol.Client) || v.Has(protocol.Tasks) && strings.HasPrefix(name, "tasks/") ||
				name == "completion/complete" && !v.Has(protocol.CompletionsCapability) {
				continue
			}
			if needs[name] != "" && !offered(v).Has(needs[name]) {
				t.Errorf("%s is answered in %s, %s is not declared", name, v, needs[name])
			}
		}
		for _, list := range []string{"tools", "prompts"} {
			if !offered(v).Has(list + ".listChanged") {
				t.Errorf("%s change and %s is not told", list, v)
			}
		}
		for _, never := range []string{"resources.listChanged"} {
			if offered(v).Has(never) {
				t.Errorf("%s is declared in %s and never comes", never, v)
			}
		}
		if got := offered(v).Has(tasksCapability); got != v.Has(protocol.TasksExtension) {
			t.Errorf("tasks are declared in %s: %t", v, got)
		}
		if got := offered(v).Has("tasks.requests.tools.call"); got != v.Has(protocol.Tasks) {
			t.Errorf("tasks of the core are declared in %s: %t", v, got)
		}
	}
	for name := range needs {
		if _, ok := methods[name]; !ok {
			t.Errorf("%s is not answered", name)
		}
	}
}
