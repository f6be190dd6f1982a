package protocol_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol"
)

// S4-91: Shape removes the members that a revision does not know. The rest keeps its bytes.
func TestShapeForVersion(t *testing.T) {
	const client = `{ "roots":{"listChanged":true}, "sampling":{"tools":{},"context":{}} ,"elicitation":{"form":{},"url":{}},"tasks":{"list":{}},` +
		`"experimental":{"elicitation":{},"tasks":{},"mine":{"n":1.0}},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["a"]}},"x":1}`
	for v, want := range map[protocol.Version]string{
		0:                  `{ "roots":{"listChanged":true}, "sampling":{} ,"experimental":{"mine":{"n":1.0}},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["a"]}},"x":1}`,
		protocol.V20241105: `{ "roots":{"listChanged":true}, "sampling":{} ,"experimental":{"mine":{"n":1.0}},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["a"]}},"x":1}`,
		protocol.V20250618: `{ "roots":{"listChanged":true}, "sampling":{} ,"elicitation":{},"experimental":{"elicitation":{},"mine":{"n":1.0}},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["a"]}},"x":1}`,
		protocol.V20251125: client,
	} {
		if got := string(clientCaps(t, client).Shape(v).Raw()); got != want {
			t.Errorf("%v:\ngot  %s\nwant %s", v, got, want)
		}
	}
	if got := clientCaps(
		t, `{"elicitation":{"url":{}}}`,
	).Shape(protocol.V20250618); got.Has("elicitation") {
		t.Errorf("a client without forms is shown as one with: %s", got.Raw())
	}
	server := serverCaps(
		t, `{"tools":{},"completions":{},"tasks":{},"experimental":{"completions":{},"tasks":{}}}`,
	)
	for v, want := range map[protocol.Version]string{
		0:                  `{"tools":{}}`,
		protocol.V20241105: `{"tools":{}}`,
		protocol.V20250326: `{"tools":{},"completions":{},"experimental":{"completions":{}}}`,
		protocol.V20260728: `{"tools":{},"completions":{},"experimental":{"completions":{},"tasks":{}}}`,
	} {
		if got := string(server.Shape(v).Raw()); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}

// 2025-11-25 §client/elicitation: {} means form; {"url":{}} means only url.
func TestElicitationModes(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`:                                               "none",
		`{"elicitation":{}}`:                               "elicitation.form",
		`{"elicitation":{"form":{}}}`:                      "elicitation.form",
		`{"elicitation":{"url":{}}}`:                       "elicitation.url",
		`{"elicitation":{"form":{},"url":{}}}`:             "elicitation.form,elicitation.url",
		`{"elicitation":null}`:                             "none",
		`{"elicitation":{"url":null}}`:                     "elicitation.form",
		`{"roots":{},"sampling":{"tools":{}}}`:             "roots,sampling,sampling.tools",
		`{"sampling":{"context":{}}}`:                      "sampling,sampling.context",
		`{"extensions":{"io.modelcontextprotocol/ui":{}}}`: "extensions.io.modelcontextprotocol/ui",
	} {
		if got := clientCaps(t, raw).Fingerprint().String(); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}

func TestUnionOfServers(t *testing.T) {
	got := serverCaps(
		t, `{"tools":{},"resources":{"subscribe":false},"extensions":{"a":{"x":1}},"logging":null}`,
	).Union(
		serverCaps(
			t,
			`{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":false},"tasks":{"requests":{"tools":{"call":{}}}}}`,
		),
		serverCaps(
			t, `{"prompts":{},"extensions":{"a":{"y":2},"b":{}},"logging":{},"tasks":{"list":{}}}`,
		),
		protocol.ServerCapabilities{},
	)
	want := `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":false},"extensions":{"a":{"x":1},"b":{}},` +
		`"tasks":{"requests":{"tools":{"call":{}}},"list":{}},"prompts":{},"logging":{}}`
	if string(got.Raw()) != want {
		t.Errorf("got  %s\nwant %s", got.Raw(), want)
	}
	if got := (protocol.ServerCapabilities{}).Union(serverCaps(t,
		`{"tools":{}}`)); string(got.Raw()) != `{"tools":{}}` {
		t.Errorf("got %s", got.Raw())
	}
}

// A null member is undeclared, and is not passed on: servers of one SDK refuse a client that sends
// null.
func TestNullIsNotPassedOn(t *testing.T) {
	const raw = `{"sampling":null,"roots":{"listChanged":null},"elicitation":{"form":null,"url":{"k":null}},"extensions":{"a":null,"b":{}}}`
	const want = `{"roots":{},"elicitation":{"url":{"k":null}},"extensions":{"b":{}}}`
	if got := string(clientCaps(t, raw).Raw()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The declaration towards a server never exceeds the declaration of the client.
func TestIntersection(t *testing.T) {
	carrier := clientCaps(t, `{"roots":{},"sampling":{},"elicitation":{"form":{}},"tasks":null}`)
	got := clientCaps(
		t, `{"roots":{"listChanged":true},"elicitation":{"url":{},"form":{}},"tasks":{},"x":1}`,
	).Intersect(carrier)
	if want := `{"roots":{"listChanged":true},"elicitation":{"form":{}}}`; string(got.Raw()) != want {
		t.Errorf("got %s, want %s", got.Raw(), want)
	}
}

// S0-52, S0-53: a changed declaration is a new value; sessions keep the old one (S0-56).
func TestCapabilitiesChangeAtRuntime(t *testing.T) {
	before := serverCaps(t, `{"tools":{}}`)
	after := before.With("prompts.listChanged", jsontext.Value("true")).With("experimental.a.b",
		jsontext.Value("{}"))
	if want := `{"tools":{},"prompts":{"listChanged":true},"experimental":{"a.b":{}}}`; string(after.Raw()) != want {
		t.Errorf("got %s, want %s", after.Raw(), want)
	}
	if string(before.Raw()) != `{"tools":{}}` {
		t.Errorf("a session's value changed to %s", before.Raw())
	}
	if got := after.Without("prompts", "experimental.a.b",
		"none"); string(got.Raw()) != `{"tools":{}}` {
		t.Errorf("got %s", got.Raw())
	}
	if got := serverCaps(t, `{"resources":true}`).With("resources.subscribe",
		jsontext.Value("true")); string(got.Raw()) != `{"resources":{"subscribe":true}}` {
		t.Errorf("got %s", got.Raw())
	}
	if client := clientCaps(t, `{}`); !client.Has("roots") {
		after = after.Without("prompts") // a feature that depends on the client's declaration
	}
	if after.Has("prompts") {
		t.Error("a feature that needs roots is offered to a client without")
	}
	for path, want := range map[string]bool{"": true, "experimental": true, "experimental.a.b": true,
		"experimental.a": false, "tools.x": false} {
		if _, ok := after.Settings(path); ok != want {
			t.Errorf("%q: got %v, want %v", path, ok, want)
		}
	}
}

func TestImplementation(t *testing.T) {
	i, err := protocol.ParseImplementation(
		jsontext.Value(`{"name":"a","version":"1","title":"A","icons":[],"description":"d","websiteUrl":"u","x":1}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	for v, want := range map[protocol.Version]string{
		protocol.V20241105: `{"name":"a","version":"1","x":1}`,
		protocol.V20250618: `{"name":"a","version":"1","title":"A","x":1}`,
		protocol.V20251125: string(i.Raw()),
	} {
		if got := string(i.Shape(v)); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}

// Shape, union and intersection obey their laws for every declaration.
func TestCapabilityLaws(t *testing.T) {
	paths := []string{
		"roots", "roots.listChanged", "sampling", "sampling.tools", "elicitation", "elicitation.form",
		"elicitation.url", "tasks", "tasks.list",
		"experimental.a", "experimental.tasks", "extensions.io.modelcontextprotocol/ui", "unknown",
		"tools", "tools.listChanged",
	}
	settings := rapid.SampledFrom([]string{"{}", "true", "false", "null"})
	build := rapid.Custom(func(t *rapid.T) protocol.ClientCapabilities {
		var c protocol.ClientCapabilities
		for _, p := range rapid.SliceOfDistinct(rapid.SampledFrom(paths),
			rapid.ID[string]).Draw(t, "paths") {
			c = c.With(p, jsontext.Value(settings.Draw(t, "settings")))
		}
		return c
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := build.Draw(t, "a"), build.Draw(t, "b")
		v := rapid.SampledFrom(protocol.Versions()).Draw(t, "version")
		shaped := a.Shape(v)
		if again := shaped.Shape(v); string(again.Raw()) != string(shaped.Raw()) {
			t.Fatalf("%v: %s shaped twice is %s", v, shaped.Raw(), again.Raw())
		}
		both := a.Intersect(b)
		sa, _ := protocol.ParseServerCapabilities(a.Raw())
		sb, _ := protocol.ParseServerCapabilities(b.Raw())
		either := sa.Union(sb)
		for _, p := range paths {
			if strings.HasPrefix(p, "elicitation.") {
				continue // {} implies form
			}
			if both.Has(p) && !a.Has(p) || shaped.Has(p) && !a.Has(p) {
				t.Fatalf("%s: more than was declared", p)
			}
			if !strings.Contains(p, ".") && either.Has(p) != (a.Has(p) || b.Has(p)) {
				t.Fatalf("%s: union of %s and %s is %s", p, a.Raw(), b.Raw(), either.Raw())
			}
		}
		if !both.Raw().IsValid() || !either.Raw().IsValid() || !shaped.Raw().IsValid() {
			t.Fatalf("not JSON: %s %s %s", both.Raw(), either.Raw(), shaped.Raw())
		}
	})
}

// The record of a session with large capabilities keeps the parts that decide about requests. The
// client's declaration bounds the size of the record.
func TestRecordedCapabilities(t *testing.T) {
	huge := strings.Repeat("x", protocol.MaxStoredCapabilities)
	offered, err := protocol.ParseServerCapabilities(jsontext.Value(`{"tools":{"listChanged":true,"x":"` + huge + `"},"prompts":{},"tasks":{"requests":{"tools":{"call":{}}}},` +
		`"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{"x":1},"acme/a":{"y":"` + huge + `"},"acme/b":{},"acme/none":false},"experimental":{"acme/c":{"z":1},"acme/d":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	client, err := protocol.ParseClientCapabilities(
		jsontext.Value(`{"extensions":{"acme/a":{},"acme/none":{},"acme/other":{}},"experimental":{"acme/c":{}}}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	recorded := offered.ForStorage(client)
	for path, want := range map[string]bool{
		"tools.listChanged": true, "prompts": true, "resources": false, "tasks.requests.tools.call": true,
		"extensions.io.modelcontextprotocol/tasks": true, "extensions.io.modelcontextprotocol/ui": true,
		"extensions.acme/a": true, "extensions.acme/b": false, "extensions.acme/none": false,
		"extensions.acme/other": false,
		"experimental.acme/c":   true, "experimental.acme/d": false,
	} {
		if got := recorded.Has(path); got != want {
			t.Errorf("%s is recorded: %v, want %v", path, got, want)
		}
	}
	if n := len(recorded.Raw()); n > 1024 {
		t.Errorf("%d bytes are recorded", n)
	}
	if !(protocol.Gate{Client: client, Server: recorded}).SharesExtension() {
		t.Error("the extension is lost")
	}
	small, _ := protocol.ParseServerCapabilities(jsontext.Value(`{"tools":{"x":1}}`))
	if got := small.ForStorage(client); string(got.Raw()) != `{"tools":{"x":1}}` {
		t.Errorf("small ones are recorded as %s", got.Raw())
	}
}
