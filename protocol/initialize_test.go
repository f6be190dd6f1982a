package protocol_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// S0-56: the data that a session keeps do not change, and do not keep the request body in memory.
func TestHandshakeCopiesWhatItKeeps(t *testing.T) {
	body := []byte(initializeParams)
	h, err := protocol.Negotiation{}.Handshake(body, protocol.ServerCapabilities{})
	if err != nil {
		t.Fatal(err)
	}
	before := string(h.Client.Raw()) + string(h.ClientInfo.Raw())
	clear(body)
	if after := string(h.Client.Raw()) + string(h.ClientInfo.Raw()); after != before {
		t.Errorf("got %q, want %q", after, before)
	}
}

// S4-130, S4-129: the structure of a declaration is checked.
func TestInitializeParamsAreChecked(t *testing.T) {
	for _, params := range []string{
		``, `[]`, `"x"`,
		`{"protocolVersion":1}`, `{"protocolVersion":""}`, `{"protocolVersion":null}`,
		`{"protocolVersion":"2025-06-18"}`,
		`{"protocolVersion":"2025-06-18","capabilities":{}}`,
		`{"protocolVersion":"2025-06-18","clientInfo":{"name":"a","version":"1"}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a"}}`,
		`{"protocolVersion":"2025-06-18","capabilities":[]}`,
		`{"protocolVersion":"2025-06-18","capabilities":{"roots":"yes"}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":1}}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{"url":[]}}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{"roots":true}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":{}}}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{"sampling":{"tools":true}}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{"elicitation":false}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{"form":true}}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{"extensions":{"io.modelcontextprotocol/ui":5}}}`,
		`{"protocolVersion":"2025-06-18","clientInfo":7}`,
		`{"protocolVersion":"2025-06-18","clientInfo":{"version":"1"}}`,
		`{"protocolVersion":"2025-06-18","clientInfo":{"name":"a","version":1}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{"x":"` +
			strings.Repeat("x", protocol.MaxDeclaration) + `"}}`,
	} {
		_, err := protocol.ParseInitialize(jsontext.Value(params))
		if err == nil {
			t.Errorf("%.200s was accepted", params)
			continue
		}
		condition(t, err, protocol.ConditionInvalidParams)
	}
	if _, err := protocol.ExtractClientCapabilities(jsontext.Value(`{}`)); err != nil {
		t.Errorf("params that leave everything out: %v", err)
	}
}

// S1-4: the order of the messages in a handshake, and the initialize that this host sends as a
// client (S2-13 to S2-15).
func TestInitializeRoundTrip(t *testing.T) {
	p, err := protocol.ParseInitialize(
		jsontext.Value(`{"protocolVersion":"2024-11-05","capabilities":{"roots":{"listChanged":true},"sampling":{}},"clientInfo":{"name":"a","version":"1"}}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	again, err := protocol.ParseInitialize(p.Params())
	if err != nil || again.Version != "2024-11-05" || again.Info.Name != "a" ||
		string(again.Capabilities.Raw()) != string(p.Capabilities.Raw()) {
		t.Errorf("got %+v, %v", again, err)
	}
	r, err := protocol.ParseInitializeResult(initializeResult(t, string(p.Params())))
	if err != nil || r.Version != "2024-11-05" || r.Info.Name != "mcpd" ||
		r.Instructions != "be gentle" || !r.Capabilities.Has("resources.subscribe") {
		t.Errorf("got %+v, %v", r, err)
	}
	if r.Capabilities.Has("completions") || r.Capabilities.Has("tasks") {
		t.Errorf("2024-11-05 knows neither completions nor tasks: %s", r.Capabilities.Raw())
	}
	for _, bad := range []string{``, `{}`, `{"protocolVersion":"x","capabilities":1}`} {
		if _, err := protocol.ParseInitializeResult(jsontext.Value(bad)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// Servers that leave out parts of their initialize result, or send null, are read as the Go SDK
// reads them. Their clients receive all members that every revision requires.
func TestGreetingsThatLackSomething(t *testing.T) {
	for _, c := range []struct{ said, info string }{
		{`"capabilities":{"tools":{}}`, `{"name":"","version":""}`},
		{`"capabilities":null,"serverInfo":null,"instructions":null`, `{"name":"","version":""}`},
		{`"serverInfo":{}`, `{"name":"","version":""}`},
		{`"serverInfo":"a"`, `{"name":"","version":""}`},
		{`"serverInfo":{"name":"a"}`, `{"name":"a","version":""}`},
		{`"serverInfo":{"name":"a","version":null,"title":null,"icons":null,"x":1}`,
			`{"name":"a","x":1,"version":""}`},
		{`"serverInfo":{"name":"a","version":1.20}`, `{"name":"a","version":"1.20"}`},
		{`"serverInfo":{"version":"1","name":7}`, `{"version":"1","name":"7"}`},
	} {
		r, err := protocol.ParseInitializeResult(jsontext.Value(`{"protocolVersion":"2025-11-25",` +
			c.said + `}`))
		if err != nil || string(r.Info.Raw()) != c.info {
			t.Errorf("initialize, %s: %s, %v; want %s", c.said, r.Info.Raw(), err, c.info)
		}
		d, err := protocol.ParseDiscover(jsontext.Value(`{"supportedVersions":["2026-07-28"],` +
			c.said + `}`))
		if err != nil || string(d.Info.Raw()) != c.info {
			t.Errorf("discover, %s: %s, %v; want %s", c.said, d.Info.Raw(), err, c.info)
		}
	}
}

func TestDiscoverRoundTrip(t *testing.T) {
	in := protocol.DiscoverResult{
		Versions:     []string{"2025-11-25", "2026-07-28"},
		Capabilities: serverCaps(t, `{"tools":{}}`),
		Info:         protocol.Implementation{Name: "mcpd", Version: "1"},
		Instructions: "hello",
	}
	raw := in.Result()
	if !raw.IsValid() {
		t.Fatalf("not JSON: %s", raw)
	}
	for path, want := range map[string]string{"resultType": `"complete"`, "ttlMs": `0`,
		"cacheScope": `"private"`} {
		expect(t, raw, want, path)
	}
	out, err := protocol.ParseDiscover(raw)
	if err != nil || len(out.Versions) != 2 || out.Info.Name != "mcpd" ||
		out.Instructions != "hello" || !out.Capabilities.Has("tools") {
		t.Errorf("got %+v, %v", out, err)
	}
	// Drafts of the specification had serverInfo in the body.
	out, err = protocol.ParseDiscover(
		jsontext.Value(
			`{"supportedVersions":["2026-07-28",7],"serverInfo":{"name":"old","version":"1"}}`,
		),
	)
	if err != nil || out.Info.Name != "old" || len(out.Versions) != 1 {
		t.Errorf("got %+v, %v", out, err)
	}
	for _, bad := range []string{``, `{}`, `{"supportedVersions":[]}`,
		`{"supportedVersions":["a"],"capabilities":1}`} {
		if _, err := protocol.ParseDiscover(jsontext.Value(bad)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	in.Instructions = ""
	if raw := in.Result(); !raw.IsValid() {
		t.Errorf("not JSON: %s", raw)
	}
}
