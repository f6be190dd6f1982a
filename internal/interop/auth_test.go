package interop

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// keylessAddresses numbers the loopback addresses of clients without a key. Each address may fail
// only a few times before the host rate-limits it.
var keylessAddresses atomic.Uint32

// keylessClient makes a client without a key that has its own source address.
func keylessClient(t *testing.T, url string) *wire {
	w := newWire(t, url, "")
	n := keylessAddresses.Add(1)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(n>>8), byte(n))}}
	connections := &http.Transport{DialContext: func(ctx context.Context,
		network, addr string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, addr)
	}}
	t.Cleanup(connections.CloseIdleConnections)
	w.carrier = connections
	return w
}

// A client without a key cannot find out whether a tenant exists or which servers it has. The
// answers are the same, byte for byte (S50, S61).
func TestStrangersCannotTellWhatThereIs(t *testing.T) {
	host := startTwoTenants(t)
	tests := []struct {
		name, path string
		headers    []string
	}{
		{"no key", "/t/acme/mcp", nil},
		{"wrong key", "/t/acme/mcp", []string{"Authorization", "Bearer nobody"}},
		{"another tenant's key", "/t/acme/mcp", []string{"Authorization", "Bearer key-of-zoe"}},
		{"the beginning of a key", "/t/acme/mcp", []string{"Authorization", "Bearer key-of-an"}},
		{"a key and more", "/t/acme/mcp", []string{"Authorization", "Bearer key-of-ann, Bearer x"}},
		{"another scheme", "/t/acme/mcp", []string{"Authorization", "Basic a2V5LW9mLWFubg=="}},
		{"a scheme alone", "/t/acme/mcp", []string{"Authorization", "Bearer "}},
		{"no scheme", "/t/acme/mcp", []string{"Authorization", "key-of-ann"}},
		{"the hash of a key", "/t/acme/mcp", []string{
			"Authorization", "Bearer " + keyConfig("", "key-of-ann")[len("{name: , sha256: "):][:64],
		}},
		{"unknown tenant", "/t/nowhere/mcp", nil},
		{"unknown tenant with a key", "/t/nowhere/mcp", []string{"Authorization", "Bearer key-of-ann"}},
		{"no default tenant", "/mcp", nil},
		{"unknown server", "/t/acme/nowhere/mcp", nil},
		{"known server", "/t/acme/proc/mcp", nil},
		{"server of an unknown tenant", "/t/nowhere/proc/mcp", nil},
		{"a session", "/t/acme/mcp", []string{"Mcp-Session-Id", "AAAA"}},
	}
	show := func(r reply) string {
		r.header.Del("Date")
		return fmt.Sprintf("%d %v %s", r.status, r.header, r.body)
	}
	first := ""
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		w := keylessClient(t, "")
		for _, test := range tests {
			body := hello
			if method != http.MethodPost {
				body = ""
			}
			got := show(w.do(method, host.MCP+test.path, body, test.headers...))
			if first == "" {
				first = got
			}
			if got != first {
				t.Errorf("%s with %s:\n%s\nwant\n%s", method, test.name, got, first)
			}
		}
	}
	const body = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"authentication required: this host requires a key; ` +
		`send it as \"Authorization: Bearer KEY\" or as \"X-API-Key: KEY\"","data":{"reason":"unauthenticated"}}}`
	want := fmt.Sprintf(
		"401 map[Content-Length:[%d] Content-Type:[application/json] Www-Authenticate:[Bearer]] %s",
		len(body), body,
	)
	if first != want {
		t.Errorf("the answer is\n%s\nwant\n%s", first, want)
	}
}

// The response time does not reveal whether a tenant exists either. The test compares medians of
// many interleaved requests, so that a busy machine slows all of them alike.
func TestStrangersCannotTellByTheTime(t *testing.T) {
	host := startTwoTenants(t)
	kinds := []struct{ name, path, key string }{
		{"wrong key", "/t/acme/mcp", "nobody"}, {"no key", "/t/acme/mcp", ""},
		{"unknown tenant", "/t/nowhere/mcp", "nobody"},
		{"another's key", "/t/acme/mcp", "key-of-zoe"},
	}
	const rounds, perAddress = 240, 4 // requests of each kind, and how many of them one address makes
	took := make([][]time.Duration, len(kinds))
	var w *wire
	for round := range rounds {
		if round%perAddress == 0 {
			w = keylessClient(t, "")
			w.do(http.MethodPost, host.MCP+"/t/acme/mcp", "{}") // opens the connection
		}
		for i := range kinds {
			kind := kinds[(round+i)%len(kinds)]
			headers := []string{"Authorization", ""}
			if kind.key != "" {
				headers[1] = "Bearer " + kind.key
			}
			start := time.Now()
			if r := w.do(http.MethodPost, host.MCP+kind.path, "{}",
				headers...); r.status != http.StatusUnauthorized {
				t.Fatalf("%s: %d", kind.name, r.status)
			}
			took[(round+i)%len(kinds)] = append(took[(round+i)%len(kinds)], time.Since(start))
		}
	}
	var medians []time.Duration
	for i, times := range took {
		slices.Sort(times)
		medians = append(medians, times[len(times)/2])
		t.Logf("%s: median %v", kinds[i].name, medians[i])
	}
	if least, most := slices.Min(medians), slices.Max(medians); most-least > least/2 {
		t.Errorf("medians are %v: the answers differ by more than half of their time", medians)
	}
}

// A client that fails too often is rate-limited, and is checked again afterwards. A client at the
// same address that has a key is not affected.
func TestFailuresOfOneHoldUpNobodyElse(t *testing.T) {
	host := startTwoTenants(t)
	w := keylessClient(t, host.MCP+"/t/acme/mcp")
	limited := 0
	for range 30 {
		if r := w.post(hello); r.status != http.StatusUnauthorized {
			t.Fatalf("without a key: %d %s, which is no failure of one", r.status, r.body)
		}
		switch r := w.post(hello, "Authorization", "Bearer no-key"); r.status {
		case http.StatusUnauthorized:
		case http.StatusTooManyRequests:
			limited++
			if r.header.Get("Retry-After") == "" {
				t.Error("429 without Retry-After")
			}
		default:
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := w.post(hello, "Authorization", "Bearer key-of-ann"); r.status != http.StatusOK {
			t.Fatalf("with a key: %d %s", r.status, r.body)
		}
	}
	if limited < 5 || limited > 12 { // 20 in a burst, and one more every 3 s
		t.Errorf("%d of 30 failures were told to wait, want about 10", limited)
	}
}

// A tenant without keys serves every client on this machine, with or without a key in the request.
func TestTenantWithoutKeysIsOpen(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{})
	for _, key := range []string{"", "anything"} {
		w := newWire(t, host.MCP+"/mcp", key)
		w.open("2025-11-25")
		w.close()
	}
}

// The log entry of a refused request names the client's address, the tenant and the path.
func TestRefusalsAreLoggedWithTheirOrigin(t *testing.T) {
	host := startTwoTenants(t)
	w := keylessClient(t, host.MCP+"/t/acme/mcp?ticket=secret")
	if r := w.post(hello); r.status != http.StatusUnauthorized {
		t.Fatalf("%d %s", r.status, r.body)
	}
	eventually(t, "a line that tells of it", func() bool {
		for line := range strings.Lines(host.Log()) {
			if strings.Contains(line, `"event":"rejected"`) && strings.Contains(line, `"address":"127.1.`) &&
				strings.Contains(line, `"tenant":"acme"`) &&
				strings.Contains(line, `"url_path":"/t/acme/mcp"`) {
				return !strings.Contains(line, "secret")
			}
		}
		return false
	})
}
