package interop

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// A client of the official TypeScript SDK does not reconnect for the answer to a call that it has
// cancelled, and does not reconnect endlessly for a call whose answer is an error.
func TestEndedCallsAreNotResumed(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {limits: {call_timeout: 1s}, servers: {it: {url: %q}}}}\n",
		serveWithSessions(t, newFixture("it")))})
	to, err := url.Parse(host.MCP)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var resumed []string
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		if id := r.In.Header.Get("Last-Event-Id"); id != "" {
			mu.Lock()
			resumed = append(resumed, r.In.Method+" "+id)
			mu.Unlock()
		}
	}}
	at := listen(t, http.HandlerFunc(proxy.ServeHTTP))
	out, err := mcptest.Script(t, time.Minute, "testdata/cancel.mjs")(nil, at+"/it/mcp", "3500")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out); !strings.HasSuffix(got, `"still here"]`+"\n") ||
		!strings.Contains(got, "-32009") {
		t.Errorf("the calls came to %s", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(resumed) > 1 { // one for the error, because the SDK counts only results
		t.Errorf("it came back with %q", resumed)
	}
}
