package interop

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcpd/internal/mcptest"
)

// Clients of the modern era have no session that distinguishes them, and all of them may use the
// request id 1. Each client gets its own answer and its own progress, for servers of both eras, and
// also if the server asks the user first.
func TestEqualIDsOfManyClients(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {servers: {past: %s, web: {url: %q}, free: {url: %q}}}}\n",
		selfConfig(t, serveOld, "past"), serveWithSessions(t, newFixture("web")),
		serveStateless(t, newFixture("free").modernOnly()))})
	clients, together := 10_000, 100
	if mcptest.RaceEnabled {
		clients = 500
	}
	connections := &http.Transport{MaxIdleConnsPerHost: together}
	t.Cleanup(connections.CloseIdleConnections)
	numbers := make(chan int)
	var all sync.WaitGroup
	for range together {
		w := newWire(t, host.MCP+"/mcp", "")
		w.carrier = connections
		all.Go(func() {
			for n := range numbers {
				if err := w.nonce(n); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range clients {
		numbers <- n
	}
	close(numbers)
	all.Wait()
}

// nonce makes a request with a unique text. Every 25th request of a server asks the user, and is
// continued.
func (w *wire) nonce(n int) error {
	server := []string{"past", "web", "free"}[n%3]
	text := fmt.Sprintf("nonce-%d-", n)
	tool := server + "__" + []string{"echo", "steps"}[n/3%2]
	if n/3%25 == 0 {
		r := w.retry(server+"__elicit", text, w.callForState(server+"__elicit", text))
		if got := string(r.body); !strings.Contains(got, "accept ann") ||
			!strings.Contains(got, `"id":2`) {
			return fmt.Errorf("%s asked by %s: %d %s", text, server, r.status, got)
		}
		return nil
	}
	r := w.callStateless("1", "tools/call", tool, `"arguments":{"text":"`+text+`","count":2},`)
	got, want := string(r.body), 1
	if strings.HasSuffix(tool, "steps") {
		want = 2 // progress messages; the answer lacks the text
	}
	if !strings.Contains(got, `"id":1`) || strings.Count(got, text) != want ||
		strings.Count(got, "nonce-") != want {
		return fmt.Errorf("%s of %s: %d %s", text, tool, r.status, got)
	}
	return nil
}
