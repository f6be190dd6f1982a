package interop

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// One tenant fills each limit of sessions with calls in flight. No such session is evicted for
// another client. A refused client gets the name of the limit and of its owner. A tenant below its
// share is served.
func TestRunningWorkIsNotEnded(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(`
limits: {max_total_sessions: 12}
tenants:
  acme:
    auth: {keys: [%s]}
    servers: {proc: {command: %q}}
  initech:
    auth: {keys: [%s]}
    limits: {max_sessions: 2}
    servers: {s: {builtin: demo}}
  umbrella:
    auth: {keys: [%s, %s]}
    limits: {max_principal_sessions: 1}
    servers: {s: {builtin: demo}}
`, keyConfig("ann", "key-of-ann"), mcptest.Server(t), keyConfig("ian", "key-of-ian"),
		keyConfig("una", "key-of-una"), keyConfig("ulf", "key-of-ulf"))})
	at := func(tenant, name string) *wire {
		return newWire(t, host.MCP+"/t/"+tenant+"/mcp", "key-of-"+name)
	}
	refused := func(r reply, status int, texts ...string) {
		t.Helper()
		wait, err := strconv.Atoi(r.header.Get("Retry-After"))
		if r.status != status || err != nil || wait < 1 {
			t.Errorf(
				"got %d, Retry-After %d (%v), %s; want %d",
				r.status,
				wait,
				err,
				r.body,
				status,
			)
		}
		for _, word := range texts {
			if !strings.Contains(string(r.body), word) {
				t.Errorf("the refusal does not say %q: %s", word, r.body)
			}
		}
	}
	// Six of the twelve sessions are guaranteed, two for each tenant. With the six others acme has
	// eight.
	over := filepath.Join(t.TempDir(), "over")
	var calls sync.WaitGroup
	var sessions []*wire
	for range 8 {
		w := at("acme", "ann")
		w.open("2025-11-25")
		sessions = append(sessions, w)
		calls.Go(func() {
			r := w.post(
				fmt.Sprintf(
					`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"proc__hold","arguments":{"file":%q}}}`,
					over,
				),
			)
			if r.status != http.StatusOK || r.message(t).Error != nil {
				t.Errorf("a call in flight came to %d %s", r.status, r.body)
			}
		})
	}
	for metric(t, host, "mcpd_requests_in_flight") < 8 {
		time.Sleep(10 * time.Millisecond)
	}
	refused(
		at("acme", "ann").post(hello),
		http.StatusServiceUnavailable,
		"tenant acme has 8 sessions",
		`"limit":"max_total_sessions"`,
		`"tenant":"acme"`,
	)
	for range 2 { // each opening succeeds, because the tenant is below its share
		at("initech", "ian").open("2025-11-25")
	}
	opensWhenIdle(at("initech", "ian")) // evicts an idle session of its own
	at("umbrella", "una").open("2025-11-25")
	busy := at("umbrella", "una") // evicts the idle session
	opensWhenIdle(busy)
	busy.listens(t)
	refused(
		at("umbrella", "una").post(hello),
		http.StatusTooManyRequests,
		"una has 1 sessions at tenant umbrella",
		`"limit":"max_principal_sessions"`,
		`"principal":"una"`,
	)
	at("umbrella", "ulf").open("2025-11-25")
	if err := os.WriteFile(over, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	calls.Wait()
	for i, w := range sessions {
		if r := w.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.status != http.StatusOK {
			t.Errorf("session %d: %d %s", i, r.status, r.body)
		}
	}
	opensWhenIdle(at("acme", "ann")) // these sessions are idle now, so one is evicted
}

// opensWhenIdle opens a session, for which the host must evict an idle one. The idle session stays
// busy for an instant after the answer to its last message, until its actor has handled a
// notification or ended the call.
func opensWhenIdle(w *wire) {
	w.t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		r := w.post(hello)
		if r.status != http.StatusOK {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		w.header.Set("Mcp-Session-Id", r.header.Get("Mcp-Session-Id"))
		w.header.Set("Mcp-Protocol-Version", "2025-11-25")
		if r := w.post(initialized); r.status != http.StatusAccepted {
			w.t.Fatalf("initialized: %d %s", r.status, r.body)
		}
		return
	}
	w.t.Fatal("no session made room within 5 s of being idle")
}
