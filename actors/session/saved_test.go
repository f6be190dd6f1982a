package session

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/negotiation"
	"mcpd/transport/streamable"
)

// A stored session is restored with everything that was negotiated and subscribed, except
// subscriptions to which the server had not agreed yet.
func TestSavedSessionIsRestored(t *testing.T) {
	caps, err := protocol.ParseClientCapabilities(
		jsontext.Value(`{"elicitation":{"form":{}},"roots":{"listChanged":true}}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	offered, err := protocol.ParseServerCapabilities(jsontext.Value(`{"tools":{"listChanged":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	who, err := protocol.ParseImplementation(
		jsontext.Value(`{"name":"client","version":"1","title":"A client"}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	declared, err := negotiation.ParseClient([]byte(`{"client_name":"c","client_version":"2","supported_capabilities":["sampling","acme.x"],
		"capability_details":{"acme.x":{"name":"acme.x","version":"3.1","description":"d","parameters":{"a":1}}},"extensions":{"acme/y":{"b":2}}}`))
	if err != nil {
		t.Fatal(err)
	}
	full := &Record{
		Version: protocol.V20250618, Capabilities: caps, Offered: offered, Client: who, Ready: true,
		Level: "debug",
		URIs:  []Subscription{{Server: "files", URI: "mcpd://files/a", Own: "a"}},
	}
	id := strings.Repeat("x", minID)
	for name, h := range map[string]*Handle{
		"full":   {endpoint: streamable.Endpoint{Tenant: "acme", Server: "files", Principal: "ci"}},
		"little": {endpoint: streamable.Endpoint{Tenant: "acme"}},
		"terms":  {endpoint: streamable.Endpoint{Tenant: "acme"}, negotiated: declared, idle: time.Hour},
	} {
		h.id, h.opened = id, time.Unix(1_800_000_000, 5).UTC()
		want := &Record{Version: protocol.V20241105}
		want.Client, _ = protocol.ParseImplementation(jsontext.Value(`{"name":"","version":""}`))
		if name != "little" {
			want = full
		}
		stored := *want
		stored.URIs = append(stored.URIs, Subscription{Server: "files", URI: "b", Own: "b", Asking: 7})
		h.record.Store(&stored)
		c := h.Saved()
		got, err := restored(c.Key, c.Value)
		if err != nil {
			t.Errorf("%s: %v: %s", name, err, c.Value)
			continue
		}
		if again := got.Saved(); string(again.Value) != string(c.Value) ||
			len(got.Record().URIs) != len(want.URIs) {
			t.Errorf("%s: %s, want %s", name, again.Value, c.Value)
		}
		if got.id != h.id || got.endpoint != h.endpoint || !got.opened.Equal(h.opened) ||
			got.idle != h.idle || !got.TakeRestored() || got.TakeRestored() {
			t.Errorf("%s: %+v, want %+v", name, got, h)
		}
		if h.negotiated != nil && (!got.negotiated.Has("acme.x") ||
			string(got.negotiated.Declaration()) != string(h.negotiated.Declaration()) ||
			!got.negotiated.Capabilities().Has("extensions.acme/y")) {
			t.Errorf("terms: %s, want %s", got.negotiated.Declaration(), h.negotiated.Declaration())
		}
	}
}

// A value that is not a stored session is refused and never causes a crash.
func TestWhatIsNoSessionIsNotRestored(t *testing.T) {
	id := strings.Repeat("x", minID)
	for _, value := range []string{``, `7`, `{}`, `{"tenant":"t"}`,
		`{"tenant":"t","version":"1999-01-01"}`, `{"tenant":"t","version":"2025-11-25","client":7}`,
		`{"tenant":"t","version":"2025-11-25","client":{"name":"a","version":"b"},"terms":{}}`} {
		if h, err := restored(id, jsontext.Value(value)); err == nil {
			t.Errorf("%s is %+v", value, h.Record())
		}
	}
	if _, err := restored("short",
		jsontext.Value(
			`{"tenant":"t","version":"2025-11-25","client":{"name":"a","version":"b"}}`,
		)); err == nil {
		t.Error("a short id")
	}
}
