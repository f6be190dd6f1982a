package rewrite_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rewrite"
)

func TestOptionsSayWhatAModernClientIsTold(t *testing.T) {
	o := rewrite.Options{
		Server:   protocol.Implementation{Name: "s", Version: "1"},
		TTL:      1500*time.Millisecond + 900*time.Microsecond,
		Public:   true,
		Versions: []protocol.Version{protocol.V20260728, protocol.V20251125},
	}
	got, err := rewrite.Result("prompts/list", protocol.V20251125, protocol.V20260728,
		jsontext.Value(`{"prompts":[]}`), o)
	want := `{"prompts":[],"resultType":"complete","ttlMs":1500,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
	got, err = rewrite.Result("prompts/list", protocol.V20251125, protocol.V20260728,
		jsontext.Value(`{}`), rewrite.Options{TTL: -time.Second})
	if ttl, _ := jsonedit.Get(got, "ttlMs"); err != nil || string(ttl) != "0" {
		t.Errorf("got ttlMs %s (%v), want 0", ttl, err)
	}
	hello := jsontext.Value(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"2"}}`)
	got, err = rewrite.Result("initialize", protocol.V20251125, protocol.V20260728, hello, o)
	if versions, _ := jsonedit.Get(got, "supportedVersions"); err != nil ||
		string(versions) != `["2026-07-28","2025-11-25"]` {
		t.Errorf("got versions %s (%v)", versions, err)
	}
}

func TestNothingBecomesNothing(t *testing.T) {
	if e := rewrite.Error(protocol.V20241105, protocol.Latest, protocol.ClientCapabilities{}, "ping",
		nil, nil); e != nil {
		t.Errorf("got %v", e)
	}
	for _, in := range []string{"", " ", "null", "[", `{"title":`} {
		got := rewrite.Item(rewrite.Tool, protocol.Latest, protocol.V20250326, jsontext.Value(in))
		if string(got) != in {
			t.Errorf("got %q of %q", got, in)
		}
	}
	in := jsontext.Value(`{"title":"T"}`)
	if got := rewrite.Item(rewrite.Template+1, protocol.Latest, protocol.V20250326, in); !same(got,
		in) || (rewrite.Template+1).String() != "unknown" {
		t.Errorf("got %s of an unknown kind", got)
	}
}

// An unknown revision counts as the oldest one.
func TestUnknownRevisionIsTheOldest(t *testing.T) {
	in := jsontext.Value(`{"name":"t","title":"T","annotations":{}}`)
	for _, v := range []protocol.Version{0, protocol.Latest + 1} {
		if got := rewrite.Item(rewrite.Tool, protocol.Latest, v, in); string(got) != `{"name":"t"}` {
			t.Errorf("to %v: got %s", v, got)
		}
		if got := rewrite.Item(rewrite.Tool, v, protocol.V20241105, in); !same(got, in) {
			t.Errorf("from %v: got %s", v, got)
		}
	}
}

func TestErrorsAreNotChangedInPlace(t *testing.T) {
	e := &jsonrpc.Error{Code: protocol.CodeResourceNotFound, Message: "m", Data: jsontext.Value(`{}`)}
	got := rewrite.Error(protocol.V20241105, protocol.Latest, protocol.ClientCapabilities{},
		"resources/read", jsontext.Value(`{"uri":"file:///a"}`), e)
	if got == e || e.Code != protocol.CodeResourceNotFound || string(e.Data) != `{}` {
		t.Errorf("got %v of %v", got, e)
	}
}

// Annotations that are deeper than in any real schema stay, regardless of their context.
func TestDeepSchemasAreBounded(t *testing.T) {
	const depth = 5000
	in := `{"name":"t","inputSchema":` + strings.Repeat(`{"items":`, depth) + `{"x-mcp-header":"A"}` +
		strings.Repeat("}", depth) + "}"
	if got := rewrite.Item(rewrite.Tool, protocol.V20251125, protocol.Latest,
		jsontext.Value(in)); string(got) != in {
		t.Errorf("got %d bytes of %d", len(got), len(in))
	}
	shallow := `{"name":"t","inputSchema":` + strings.Repeat(`{"items":`, 30) +
		`{"x-mcp-header":"A"}` + strings.Repeat("}", 30) + "}"
	if got := rewrite.Item(rewrite.Tool, protocol.V20251125, protocol.Latest,
		jsontext.Value(shallow)); strings.Contains(string(got), "x-mcp") {
		t.Errorf("got %s", got)
	}
}
