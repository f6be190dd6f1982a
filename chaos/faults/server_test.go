package faults

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpd/chaos/server"
)

// Every misbehaviour of the server is a kind of fault, and no other kinds begin with "server.".
func TestMisbehavioursAreKinds(t *testing.T) {
	if len(misbehaviours) != len(server.Misbehaviours) {
		t.Errorf("%d kinds, %d misbehaviours", len(misbehaviours), len(server.Misbehaviours))
	}
	for _, m := range server.Misbehaviours {
		if _, ok := Find(Kinds, "server."+m.Name); !ok {
			t.Errorf("%s is no kind", m.Name)
		}
	}
}

// A server is told to misbehave by a call of its tenant, and told to behave again at the end.
func TestServersAreTold(t *testing.T) {
	var told []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "s")
		if _, args, ok := strings.Cut(string(body), `"name":"demo__misbehave","arguments":`); ok {
			told = append(told, strings.TrimSuffix(args, "}}"))
		}
		id := "1"
		if strings.Contains(string(body), `"id":2`) {
			id = "2"
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+
			`,"result":{"protocolVersion":"2025-11-25","content":[{"type":"text","text":"it behaves, after 3 strikes"}]}}`)
	})
	k, _ := Find(Kinds, "server.late")
	s := atClient(k, url, Values{"times": 3, "delay": 2 * time.Second})
	s.Server, s.Duration = "demo", 5*time.Second
	in, err := k.Inject(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := in.Hits(t.Context()); n != 3 || err != nil {
		t.Errorf("%d hits, %v; the server says 3", n, err)
	}
	want := []string{`{"fault":"late","for":"5s","times":3,"delay":"2s"}`, `{"fault":"none"}`}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("told %q, want %q", told, want)
	}
}

// A server that cannot be told to misbehave is found out before anything is measured. A server that
// may yet start is accepted.
func TestServersThatCannotBeToldAreFoundOut(t *testing.T) {
	k, _ := Find(Kinds, "server.exit")
	for _, test := range []struct{ answer, want string }{
		{`"error":{"code":-32602,"message":"no such tool"}`,
			"demo__misbehave of acme: error -32602: no such tool: the server has to be one of `mcpd chaos " +
				"server`"},
		{`"result":{"isError":true,"content":[{"type":"text","text":"Tool misbehave not found"}]}`,
			"demo__misbehave of acme: the tool failed: Tool misbehave not found: the server has to be one " +
				"of `mcpd chaos server`"},
		{`"error":{"code":-32009,"message":"it does not answer"}`, ""},
		{`"result":{"content":[{"type":"text","text":"it behaves"}]}`, ""},
	} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			text, id := `"result":{"protocolVersion":"2025-11-25"}`, "1"
			if strings.Contains(string(body), "misbehave") {
				text, id = test.answer, "2"
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, text)
		})
		s := atClient(k, url, nil)
		s.Tenant, s.Server = "acme", "demo"
		got := ""
		if err := k.Check(t.Context(), s); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.answer, got, test.want)
		}
	}
}
