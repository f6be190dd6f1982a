package interop

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

// The host enforces limits that are off by default when they are configured. A client that stays
// below a limit is not affected by it.
func TestLimitsAreKept(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: `
limits: {max_address_connections: 40, max_auth_failures: 3, max_headers: 20, max_batch: 2}
tenants:
  rate:
    auth: {keys: [` + keyConfig("ann", "key-of-ann") + `, ` + keyConfig("bob", "key-of-bob") + `]}
    limits: {max_principal_rate: 5, max_rate: 8}
    servers: {s: {builtin: demo}}
  opening:
    auth: {keys: [` + keyConfig("ann", "key-of-ann") + `, ` +
		keyConfig("bob", "key-of-bob") + `, ` +
		keyConfig("eve", "key-of-eve") + `]}
    limits: {max_principal_initialize_rate: 2, max_initialize_rate: 3}
    servers: {s: {builtin: demo}}
  sessions:
    auth: {keys: [` + keyConfig("ann", "key-of-ann") + `, ` + keyConfig("bob", "key-of-bob") + `]}
    limits: {max_principal_sessions: 3}
    servers: {s: {builtin: demo}}
  connections:
    auth: {keys: [` + keyConfig("ann", "key-of-ann") + `]}
    limits: {max_connections: 2}
    servers: {s: {builtin: demo}}
  free:
    auth: {keys: [` + keyConfig("ann", "key-of-ann") + `]}
    servers: {s: {builtin: demo}}
`})
	at := func(tenant, name string) *wire {
		return newWire(t, host.MCP+"/t/"+tenant+"/mcp", "key-of-"+name)
	}
	refused := func(t *testing.T, r reply, status int, reason string) {
		t.Helper()
		wait, err := strconv.Atoi(r.header.Get("Retry-After"))
		if r.status != status || err != nil || wait < 1 ||
			!strings.Contains(string(r.body), `"reason":"`+reason+`"`) ||
			!strings.Contains(string(r.body), "-32010") {
			t.Errorf("got %d, Retry-After %d (%v), %s; want %d for %s", r.status, wait, err, r.body,
				status, reason)
		}
	}
	// burst posts until an answer differs from 200. It returns the number of successful posts and that
	// answer.
	burst := func(w *wire, most int) (n int, r reply) {
		for n = 0; n < most; n++ {
			if r = w.post(hello); r.status != http.StatusOK {
				break
			}
		}
		return n, r
	}
	free := at("free", "ann")
	free.open("2025-11-25")

	t.Run("requests of a principal and of a tenant", func(t *testing.T) {
		n, r := burst(at("rate", "ann"), 100)
		refused(t, r, http.StatusTooManyRequests, "rate_limited")
		if n < 10 || n > 90 { // a burst of 2 s worth of requests, and then five a second
			t.Errorf("%d requests at once, want about 10", n)
		}
		m, r := burst(at("rate", "bob"), 100)
		refused(t, r, http.StatusTooManyRequests, "rate_limited")
		if m < 1 {
			t.Errorf("%d requests of another at once, want what is left of the tenant's", m)
		}
	})
	t.Run("sessions that begin", func(t *testing.T) {
		n, r := burst(at("opening", "ann"), 50)
		refused(t, r, http.StatusTooManyRequests, "rate_limited")
		if n < 4 || n > 40 {
			t.Errorf("%d sessions at once, want about 4", n)
		}
		burst(at("opening", "bob"), 50)
		_, r = burst(at("opening", "eve"), 50)
		refused(t, r, http.StatusTooManyRequests, "rate_limited")
	})
	t.Run("sessions of a principal", func(t *testing.T) {
		w := at("sessions", "ann")
		var first *wire
		for range 3 {
			first = at("sessions", "ann")
			first.open("2025-11-25")
			first.listens(t)
		}
		refused(t, w.post(hello), http.StatusTooManyRequests, "rate_limited")
		if m, r := burst(at("sessions", "bob"), 3); m != 3 {
			t.Errorf("another has %d sessions, then %d %s; want 3", m, r.status, r.body)
		}
		first.close()
		if r := w.post(hello); r.status != http.StatusOK {
			t.Errorf("with room again: %d %s", r.status, r.body)
		}
	})
	t.Run("connections of a tenant", func(t *testing.T) {
		for range 2 {
			at("connections", "ann").open("2025-11-25")
		}
		refused(t, at("connections", "ann").post(hello), http.StatusServiceUnavailable, "overloaded")
	})
	t.Run("failed authentications", func(t *testing.T) {
		w := at("free", "nobody")
		for i := range 4 {
			r := w.post(hello)
			if i < 3 && r.status != http.StatusUnauthorized {
				t.Errorf("failure %d: %d %s", i, r.status, r.body)
			}
			if i == 3 {
				refused(t, r, http.StatusTooManyRequests, "rate_limited")
			}
		}
	})
	t.Run("header fields and batches", func(t *testing.T) {
		var many []string
		for i := range 20 {
			many = append(many, "X-"+strconv.Itoa(i), "y")
		}
		if r := free.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			many...); r.status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("21 header fields: %d %s", r.status, r.body)
		}
		old := at("free", "ann")
		old.open("2025-03-26")
		ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		if r := old.post("[" + ping + "," + ping + "," + ping + "]"); r.status != http.StatusBadRequest ||
			!strings.Contains(string(r.body), "-32600") {
			t.Errorf("three of a batch of two: %d %s", r.status, r.body)
		}
	})
	t.Run("connections of an address", func(t *testing.T) {
		open := 0
		for range 60 {
			w := at("free", "ann")
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url,
				strings.NewReader(hello))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = w.header.Clone()
			response, err := w.carrier.RoundTrip(r)
			if err != nil {
				break
			}
			defer response.Body.Close() // not read: the connection stays in use
			open++
		}
		if open < 10 || open >= 40 {
			t.Errorf("%d connections beside those there were, want less than 40", open)
		}
		if r := free.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.status != http.StatusOK {
			t.Errorf("who has a connection: %d %s", r.status, r.body)
		}
	})
	metrics := newWire(t, host.Admin, "").do(http.MethodGet, host.Admin+"/metrics", "")
	for _, want := range []string{
		`mcpd_rejections_total{reason="rate_limited"}`,
		`mcpd_rejections_total{reason="too_many_connections"}`,
		`mcpd_rejections_total{reason="too_many_headers"}`,
		`mcpd_limit_max_principal_rate{tenant="rate"} 5`, `mcpd_limit_max_batch{tenant=""} 2`,
	} {
		if !strings.Contains(string(metrics.body), want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}
