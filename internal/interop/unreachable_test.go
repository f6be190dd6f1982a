package interop

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// behindTLS starts a server with a certificate for a host, and counts its connections.
func behindTLS(t *testing.T, a *mcptest.Authority, host string, ends time.Duration) (address string,
	dials *atomic.Int64) {
	t.Helper()
	return counted(t, func(s *httptest.Server) {
		s.TLS = a.Certificate(host, ends)
		s.StartTLS()
	}, &scripted{sessions: true})
}

// counted starts a server on loopback, and counts its connections.
func counted(t *testing.T, start func(*httptest.Server), h http.Handler) (address string,
	dials *atomic.Int64) {
	t.Helper()
	dials = new(atomic.Int64)
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			dials.Add(1)
		}
	}
	start(s)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), dials
}

// The host reaches servers through the configured proxy, or otherwise through the proxy of the
// environment, in cleartext and by TLS. It trusts the configured certificate authority.
func TestServersBehindAProxy(t *testing.T) {
	a := mcptest.NewAuthority(t)
	cleartext, _ := counted(t, (*httptest.Server).Start, &scripted{sessions: true, stream: open})
	secured, _ := behindTLS(t, a, "tls.test", time.Hour)
	hosts := map[string]string{"plain.test": cleartext, "tls.test:443": secured}
	servers := func(more string) string {
		return fmt.Sprintf(`tenants:
  default:
    servers:
      plain: {url: "http://plain.test/mcp"%[1]s}
      tls: {url: "https://tls.test/mcp", ca: %[2]q%[1]s}
      near: {url: "http://%[3]s/mcp"}
`, more, a.File(), cleartext)
	}
	for _, tt := range []struct {
		name string
		host func(proxy string) mcptest.HostOptions
	}{
		{"configured", func(proxy string) mcptest.HostOptions {
			return mcptest.HostOptions{
				Config: servers(fmt.Sprintf(", proxy: %q", proxy)),
				Env:    []string{"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1"},
			}
		}},
		{"environment", func(proxy string) mcptest.HostOptions {
			return mcptest.HostOptions{
				Config: servers(""),
				Env:    []string{"http_proxy=" + proxy, "HTTPS_PROXY=" + proxy, "NO_PROXY=other.test"},
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proxy, at := mcptest.NewProxy(t, hosts)
			host := mcptest.Start(t, tt.host(at))
			for _, server := range []string{"plain", "tls", "near"} {
				c := newWire(t, host.MCP+"/"+server+"/mcp", "")
				c.open("2025-11-25")
				if got := string(c.post(callT).result(t, "content")); !strings.Contains(got, "done") {
					t.Errorf("%s: %s", server, got)
				}
			}
			seen := proxy.Seen()
			if !slices.Contains(seen, "POST plain.test") || !slices.Contains(seen, "CONNECT tls.test:443") ||
				len(seen) > 4 {
				t.Errorf("the proxy saw %q", seen)
			}
			for _, asked := range seen {
				if strings.Contains(asked, "127.0.0.1") {
					t.Errorf("the proxy saw %q", seen)
				}
			}
		})
	}
}

// The host dials an unreachable server only once if waiting does not help. The caller, the log and
// the tree all report the cause, the remedy, and the incident of the log.
func TestObstacleIsToldOnceAndNotTriedAgain(t *testing.T) {
	a := mcptest.NewAuthority(t)
	ca := fmt.Sprintf(", ca: %q", a.File())
	refusing, proxy := mcptest.NewProxy(t, nil)
	refusing.Authorization = "Basic x"
	moved := func(status int, to string) func() (string, *atomic.Int64) {
		return func() (string, *atomic.Int64) {
			address, dials := counted(t, (*httptest.Server).Start,
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Location", to)
					w.Header().Set("Connection", "close") // so that each request is counted
					w.WriteHeader(status)
				}))
			return "http://" + address, dials
		}
	}
	secure := func(host string, ends time.Duration) func() (string, *atomic.Int64) {
		return func() (string, *atomic.Int64) {
			address, dials := behindTLS(t, a, host, ends)
			return "https://" + address, dials
		}
	}
	clear := func() (string, *atomic.Int64) {
		address, dials := counted(t, (*httptest.Server).Start, &scripted{})
		return "https://" + address, dials
	}
	far := func() (string, *atomic.Int64) { return "https://far.test", new(atomic.Int64) }
	// The resolver sends no query for a name with an empty label, which is invalid, nor for a name in
	// onion (RFC 7686).
	named := func(host string) func() (string, *atomic.Int64) {
		return func() (string, *atomic.Int64) { return "http://" + host, new(atomic.Int64) }
	}
	for _, tt := range []struct {
		name, settings, cause, do string
		server                    func() (url string, dials *atomic.Int64)
	}{
		{"unknown authority", "", "certificate", "`ca`", secure("127.0.0.1", time.Hour)},
		{"expired", ca, "certificate", "have it renewed", secure("127.0.0.1", -time.Minute)},
		{"another host", ca, "certificate", `is for "other.test"`, secure("other.test", time.Hour)},
		{"no file", ", ca: /nowhere/ca.pem", "certificate", "no such file",
			secure("127.0.0.1", time.Hour)},
		{"no TLS", "", "tls", "write http", clear},
		{"elsewhere", "", "redirect", `write "https://elsewhere.test/mcp" as its url`,
			moved(307, "https://elsewhere.test/mcp?x=1")},
		{"for GET", "", "redirect", "as its url", moved(302, "/login")},
		{"stream elsewhere", ", transport: sse", "redirect",
			`write "https://elsewhere.test/sse" as its url`, moved(308, "https://elsewhere.test/sse")},
		{"proxy", fmt.Sprintf(", proxy: %q", proxy), "proxy", "wants credentials", far},
		{"unknown name", ", proxy: direct", "unknown name", `no host is called "no..where"`,
			named("no..where")},
		{"name without an address", ", proxy: direct", "unknown name", `"nowhere.onion" has no address`,
			named("nowhere.onion")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url, dials := tt.server()
			host := mcptest.Start(t, mcptest.HostOptions{
				Config: fmt.Sprintf("tenants: {default: {servers: {web: {url: \"%s/mcp\"%s}}}}\n", url,
					tt.settings),
				Env: []string{"GODEBUG=netdns=go"}, // Go's resolver: others may send a query
			})
			c := newWire(t, host.MCP+"/web/mcp", "")
			refused := func() (is errorData) {
				t.Helper()
				m := c.post(hello).message(t)
				if m.Error == nil {
					t.Fatalf("the server is there: %s", m.Result)
				}
				if err := json.Unmarshal(m.Error.Data, &is); err != nil {
					t.Fatal(err)
				}
				if is.Cause != tt.cause || is.Incident == "" || !strings.Contains(m.Error.Message, tt.do) ||
					!strings.Contains(string(m.Error.Data), `"retryable":false`) {
					t.Errorf("a client is told %s, %s", m.Error.Message, m.Error.Data)
				}
				return is
			}
			is := refused()
			incident, do := fmt.Sprintf("%q", is.Incident), strings.Trim(strconv.Quote(tt.do), `"`)
			if shown := serversJSON(t, host); !strings.Contains(shown, `"quarantined"`) ||
				!strings.Contains(shown, incident) || !strings.Contains(shown, do) {
				t.Errorf("the server is shown as %s", shown)
			}
			before := dials.Load()
			time.Sleep(3 * time.Second)
			if again := refused(); again.Incident != is.Incident {
				t.Errorf("incident %s, then %s", is.Incident, again.Incident)
			}
			if n := dials.Load() - before; n != 0 {
				t.Errorf("it is dialled %d times in 3 s", n)
			}
			lines := serverLog(host)
			if len(lines) != 3 || !strings.Contains(lines[1], incident) ||
				!strings.Contains(lines[2], incident) || !strings.Contains(lines[2], do) {
				t.Errorf("the log says %q", lines)
			}
		})
	}
}
