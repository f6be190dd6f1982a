package rewrite_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/rewrite"
)

// resultTypes gives the schemas' names of the result of each method.
var resultTypes = map[string]string{
	"initialize":               "InitializeResult",
	"server/discover":          "DiscoverResult",
	"ping":                     "EmptyResult",
	"logging/setLevel":         "EmptyResult",
	"resources/subscribe":      "EmptyResult",
	"resources/unsubscribe":    "EmptyResult",
	"tools/list":               "ListToolsResult",
	"tools/call":               "CallToolResult",
	"prompts/list":             "ListPromptsResult",
	"prompts/get":              "GetPromptResult",
	"resources/list":           "ListResourcesResult",
	"resources/templates/list": "ListResourceTemplatesResult",
	"resources/read":           "ReadResourceResult",
	"completion/complete":      "CompleteResult",
}

// answerTypes gives the schemas' names of the answers of clients.
var answerTypes = map[string]string{
	"sampling/createMessage": "CreateMessageResult",
	"elicitation/create":     "ElicitResult",
	"roots/list":             "ListRootsResult",
}

var itemTypes = []string{
	rewrite.Tool: "Tool", rewrite.Prompt: "Prompt", rewrite.Resource: "Resource",
	rewrite.Template: "ResourceTemplate",
}

var gateway = rewrite.Options{Server: protocol.Implementation{Name: "gateway", Version: "1"}}

// pairs calls do for all pairs of revisions.
func pairs(do func(from, to protocol.Version)) {
	for _, from := range protocol.Versions() {
		for _, to := range protocol.Versions() {
			do(from, to)
		}
	}
}

// same reports whether two texts share the same memory.
func same(a, b jsontext.Value) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// passes checks the properties of every translation f of a message. Between equal revisions it
// returns the same memory. Otherwise the output is valid, a second pass changes nothing, and the
// input is unchanged. It reports whether there is an output.
func passes(t *testing.T, from, to protocol.Version, name string, in jsontext.Value,
	f func(jsontext.Value) (jsontext.Value, error),
	check func(jsontext.Value) error) bool {
	t.Helper()
	before := bytes.Clone(in)
	got, err := f(in)
	if !bytes.Equal(before, in) {
		t.Errorf("%v to %v, %s: changed its input\n%s\n%s", from, to, name, before, in)
	}
	var no *rewrite.Inexpressible
	switch {
	case errors.As(err, &no):
		if from == to {
			t.Errorf("%v, %s: %v", from, name, err)
		}
		if no.To != to || no.Reason == "" || len(got) > 0 {
			t.Errorf("%v to %v, %s: got %q and %+v", from, to, name, got, no)
		}
		return false
	case err != nil:
		t.Errorf("%v to %v, %s: %v", from, to, name, err)
		return false
	case from == to && !same(got, in):
		t.Errorf("%v, %s: got other bytes: %s", from, name, got)
	}
	if again, err := f(got); err != nil || !bytes.Equal(again, got) {
		t.Errorf("%v to %v, %s: got %s (%v) the second time, %s the first", from, to, name,
			again, err, got)
	}
	if err := check(got); err != nil {
		t.Errorf("%v to %v, %s:\n   %s\n-> %s\n%v", from, to, name, in, got, err)
	}
	return true
}

func TestEveryResultIsValidInEveryRevision(t *testing.T) {
	all := load(t)
	pairs(func(from, to protocol.Version) {
		for method, definition := range resultTypes {
			if !protocol.IsMethodAvailable(method, from) {
				continue
			}
			target, definition := all[to], definition
			there := protocol.IsMethodAvailable(method, to)
			if greets := method == "initialize" || method == "server/discover"; greets && !there {
				there = true
				definition = map[bool]string{true: "DiscoverResult",
					false: "InitializeResult"}[to.Has(protocol.Discover)]
				for _, in := range all[from].of(t, resultTypes[method]) {
					got, err := rewrite.Result(method, from, to, in, gateway)
					if err == nil {
						err = target.closed.Check(t, definition, got)
					}
					if err != nil {
						t.Errorf("%v to %v, %s: got %s: %v", from, to, method, got, err)
					}
				}
				continue
			}
			for _, in := range all[from].of(t, resultTypes[method]) {
				ok := passes(t, from, to, method, in, func(in jsontext.Value) (jsontext.Value, error) {
					return rewrite.Result(method, from, to, in, gateway)
				}, func(got jsontext.Value) error { return target.closed.Check(t, definition, got) })
				if ok != there {
					t.Errorf("%v to %v, %s: got a result %v, the method is there %v", from, to, method, ok, there)
				}
			}
		}
	})
}

func TestEveryItemIsValidInEveryRevision(t *testing.T) {
	all := load(t)
	pairs(func(from, to protocol.Version) {
		for kind, definition := range itemTypes {
			for _, in := range all[from].of(t, definition) {
				passes(t, from, to, definition, in, func(in jsontext.Value) (jsontext.Value, error) {
					return rewrite.Item(rewrite.Kind(kind), from, to, in), nil
				}, func(got jsontext.Value) error { return all[to].closed.Check(t, definition, got) })
			}
		}
	})
}

// definitionOf returns the schema's name of the request or notification of a method.
func (p published) definitionOf(method string) string {
	for name, def := range p.defs {
		named, _ := def.(object)["properties"].(object)
		m, _ := named["method"].(object)
		if m["const"] == method {
			return name
		}
	}
	return ""
}

// message returns a message of that method, valid under the schema.
func (p published) message(t *testing.T, method string, params jsontext.Value) (string,
	jsontext.Value) {
	t.Helper()
	definition := p.definitionOf(method)
	m := object{"method": method}
	if len(params) > 0 {
		m["params"] = params
	}
	required, _ := p.defs[definition].(object)["required"].([]any)
	for _, name := range required {
		switch name {
		case "jsonrpc":
			m["jsonrpc"] = "2.0"
		case "id":
			m["id"] = 1
		}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return definition, raw
}

// params returns the sample params of a method.
func (p published) params(t *testing.T, method string) (list []jsontext.Value) {
	t.Helper()
	for _, m := range p.of(t, p.definitionOf(method)) {
		params, _ := jsonedit.Get(m, "params")
		list = append(list, params)
	}
	return list
}

func TestEveryRequestIsValidInEveryRevision(t *testing.T) {
	all := load(t)
	modern := protocol.Meta{Version: protocol.Latest.String()}
	pairs(func(from, to protocol.Version) {
		for _, method := range protocol.MethodNames() {
			m, _ := protocol.LookupMethod(method)
			if !m.Allows(from, protocol.Client) || m.Extension(from) {
				continue
			}
			for _, in := range all[from].params(t, method) {
				ok := passes(t, from, to, method, in, func(in jsontext.Value) (jsontext.Value, error) {
					return rewrite.Request(method, from, to, in)
				}, func(got jsontext.Value) error {
					if m.Extension(to) {
						return nil // the schema of the extension is not among these
					}
					if to.Has(protocol.PerRequestMeta) && !m.Notification() {
						if from != to && protocol.IsModern(got) {
							return errors.New("it says its revision before Meta.Set")
						}
						got = modern.Set(got)
					}
					definition, raw := all[to].message(t, method, got)
					return all[to].closed.Check(t, definition, raw)
				})
				if want := m.Allows(to, protocol.Client); ok != want {
					t.Errorf("%v to %v, %s: got params %v, the method is there %v", from, to, method, ok, want)
				}
			}
		}
	})
}

func TestEveryNotificationIsValidInEveryRevision(t *testing.T) {
	all := load(t)
	pairs(func(from, to protocol.Version) {
		for _, method := range protocol.MethodNames() {
			m, _ := protocol.LookupMethod(method)
			if !m.Notification() || !m.Allows(from, protocol.Server) || m.Extension(from) {
				continue
			}
			for _, in := range all[from].params(t, method) {
				ok := passes(t, from, to, method, in, func(in jsontext.Value) (jsontext.Value, error) {
					return rewrite.Notification(method, from, to, in)
				}, func(got jsontext.Value) error {
					definition, raw := all[to].message(t, method, got)
					return all[to].closed.Check(t, definition, raw)
				})
				if want := m.Allows(to, protocol.Server); ok != want {
					t.Errorf("%v to %v, %s: got params %v, the method is there %v", from, to, method, ok, want)
				}
			}
		}
	})
}

// richer reports whether the first revision can express more in questions than the second.
func richer(from, to protocol.Version) bool {
	return slices.ContainsFunc([]protocol.Feature{
		protocol.AudioContent, protocol.RichForms, protocol.SamplingTools, protocol.Elicitation,
	},
		func(f protocol.Feature) bool { return from.Has(f) && !to.Has(f) })
}

func TestEveryQuestionIsValidInEveryRevision(t *testing.T) {
	all := load(t)
	pairs(func(from, to protocol.Version) {
		for method, result := range answerTypes {
			passed := 0
			samples := all[from].params(t, method)
			for _, in := range slices.Concat(samples, plainer(samples)) {
				ok := passes(t, from, to, method, in, func(in jsontext.Value) (jsontext.Value, error) {
					return rewrite.Question(method, from, to, in, "e1")
				}, func(got jsontext.Value) error {
					definition, raw := all[to].message(t, method, got)
					return all[to].closed.Check(t, definition, raw)
				})
				if ok {
					passed++
				}
				if !ok && !richer(from, to) {
					t.Errorf("%v to %v, %s: got no question of %s", from, to, method, in)
				}
			}
			m, _ := protocol.LookupMethod(method)
			if there := m.Embedded(to) ||
				m.Allows(to, protocol.Server); len(samples) > 0 && there != (passed > 0) {
				t.Errorf("%v to %v, %s: %d samples can be asked, the method is there %v", from, to, method,
					passed, there)
			}
			for _, in := range all[from].of(t, result) {
				ok := passes(t, from, to, method, in, func(in jsontext.Value) (jsontext.Value, error) {
					return rewrite.Answer(method, from, to, in)
				}, func(got jsontext.Value) error { return all[to].closed.Check(t, result, got) })
				if !ok && !richer(from, to) {
					t.Errorf("%v to %v, %s: got no answer of %s", from, to, method, in)
				}
			}
		}
	})
}

// plainer returns the samples without features of single revisions: tools, content other than text,
// and fields with several values.
func plainer(samples []jsontext.Value) (list []jsontext.Value) {
	for _, s := range samples {
		s = jsonedit.Without(s, "tools", "toolChoice")
		for _, path := range [][]string{{"messages"}, {"requestedSchema", "properties"}} {
			v, ok := jsonedit.Get(s, path...)
			if !ok {
				continue
			}
			v = jsonedit.MapElements(v, func(m jsontext.Value) (jsontext.Value, bool) {
				kind, ok := jsonedit.GetString(m, "content", "type")
				if list, _ := jsonedit.Get(m, "content"); list.Kind() == '[' {
					m, _ = jsonedit.Set(
						m,
						jsontext.Value(
							`[{"type":"text","text":"a"},{"type":"image","data":"AAEC","mimeType":"image/png"}]`,
						), "content",
					)
				}
				return m, !ok || kind == "text" || kind == "image"
			})
			v = jsonedit.MapMembers(v, func(m jsonedit.Member) (jsontext.Value, bool) {
				kind, _ := jsonedit.GetString(m.Value, "type")
				return m.Value, kind != "array"
			})
			s, _ = jsonedit.Set(s, v, path...)
		}
		list = append(list, s)
	}
	return list
}
