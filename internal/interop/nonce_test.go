package interop

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcpd/internal/mcptest"
)

// Clients of the modern era have no session that would tell them apart, and all may call their request 1: each has its own answer, also in
// the progress on the way there, whatever era the server is of and whether it asks the user first.
func TestEqualIDsOfManyClients(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {servers: {past: %s, web: {url: %q}, free: {url: %q}}}}\n",
		self(t, serveOld, "past"), web(t, newFixture("web")), alone(t, newFixture("free").young()))})
	clients, together := 10_000, 100
	if mcptest.Raced {
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

// nonce is one client's request, which nobody else has made. Each fiftieth is one that asks the user, and is continued.
func (w *wire) nonce(n int) error {
	server := []string{"past", "web", "free"}[n%3]
	text := fmt.Sprintf("nonce-%d-", n)
	tool := server + "__" + []string{"echo", "steps"}[n/3%2]
	if n/3%25 == 0 {
		r := w.back(server+"__elicit", text, w.asked(server+"__elicit", text))
		if got := string(r.body); !strings.Contains(got, "accept ann") || !strings.Contains(got, `"id":2`) {
			return fmt.Errorf("%s asked by %s: %d %s", text, server, r.status, got)
		}
		return nil
	}
	r := w.single("1", "tools/call", tool, `"arguments":{"text":"`+text+`","count":2},`)
	got, want := string(r.body), 1
	if strings.HasSuffix(tool, "steps") {
		want = 2 // reports, and an answer that does not tell
	}
	if !strings.Contains(got, `"id":1`) || strings.Count(got, text) != want || strings.Count(got, "nonce-") != want {
		return fmt.Errorf("%s of %s: %d %s", text, tool, r.status, got)
	}
	return nil
}
