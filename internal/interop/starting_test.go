package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// If a program prints something instead of a handshake, the host shows the output long before the
// start has failed. A caller with a shorter time-out gets the output in its error.
func TestProgramThatPrintsIsShownWhileItStarts(t *testing.T) {
	t.Parallel()
	const printed = `Listening on port 3000`
	host := mcptest.Start(t, mcptest.HostOptions{Config: `
limits: {call_timeout: 3s}
tenants: {default: {servers: {web: {
  command: sh, args: [-c, "echo Listening on port 3000; echo oops >&2; exec sleep 1000"], start_timeout: 50s}}}}
`})
	start := time.Now()
	c := newWire(t, host.MCP+"/mcp", "")
	c.open("2025-11-25")
	m := c.post(callWebT).message(t)
	if m.Error == nil || !strings.Contains(m.Error.Message, printed) ||
		!strings.Contains(string(m.Error.Data), "oops") {
		t.Errorf("the call is told %+v", m.Error)
	}
	eventually(t, "it is shown", func() bool {
		is := serversJSON(t, host)
		return strings.Contains(is, printed) && strings.Contains(is, `"starting"`) &&
			strings.Contains(is, "oops")
	})
	tree := string(newWire(t, "", "").do(http.MethodGet, host.Admin+"/admin/v1/tree", "").body)
	if !strings.Contains(tree, printed) {
		t.Errorf("the tree says %s", tree)
	}
	if took := time.Since(start); took > 40*time.Second {
		t.Errorf("it took %v", took)
	}
}

// If a URL server answers but is unusable, the host backs off. The log has one warning for each
// status, and one incident. The host does not retry a server that denies access or answers with a
// page.
func TestServerThatAnswersWrongAtItsStart(t *testing.T) {
	for _, tt := range []struct {
		name, cause string
		answer      http.HandlerFunc
	}{
		{"401", "look at its `headers`", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
		}},
		{"403", "look at its `headers`", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
		}},
		{"404", "404", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
		}},
		{"500", "500", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}},
		{"page", "answers with a page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>") // the client may be gone
		}},
		{"not JSON", "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "oops") // as above
		}},
		{"refusal", "go away", func(w http.ResponseWriter, r *http.Request) {
			var m struct{ ID json.RawMessage }
			_ = json.NewDecoder(r.Body).Decode(&m) // a GET has no body
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"go away"}}`, m.ID)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			var well atomic.Bool
			s := &scripted{sessions: true}
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if well.Load() {
					s.ServeHTTP(w, r)
					return
				}
				tt.answer(w, r)
			}))
			defer web.Close()
			permanent := slices.Contains([]string{"401", "403", "page"}, tt.name)
			most, warned, state := int64(20*4), 1, `"backoff"`
			// The log has a line for the start and one for the quarantine.
			if permanent {
				most, warned, state = 4, 2, `"quarantined"`
			}
			host := mcptest.Start(t, webAt(web.URL+"/mcp"))
			var clients []*wire
			for range 3 {
				c := newWire(t, host.MCP+"/mcp", "")
				c.open("2025-11-25")
				clients = append(clients, c)
			}
			var incidents []string
			for end := time.Now().Add(
				6 * time.Second); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
				for _, c := range clients {
					m := c.post(callWebT).message(t)
					var is errorData
					if m.Error == nil || json.Unmarshal(m.Error.Data, &is) != nil || is.Incident == "" ||
						!strings.Contains(m.Error.Message, tt.cause) {
						t.Fatalf("a call is told %+v, want %q", m, tt.cause)
					}
					if again := strings.Contains(string(m.Error.Data), `"retryable":true`); again == permanent {
						t.Fatalf("a call is told %s", m.Error.Data)
					}
					incidents = append(incidents, is.Incident)
				}
			}
			if slices.Sort(incidents); len(slices.Compact(incidents)) != 1 {
				t.Errorf("incidents: %q", slices.Compact(incidents))
			}
			// Each dial sends up to four requests: a probe, two forms of the handshake, and one for
			// HTTP+SSE.
			if n := asked.Load(); n > most {
				t.Errorf("it was asked %d times in 6 s", n)
			}
			warnings := slices.DeleteFunc(serverLog(host), func(line string) bool {
				return strings.Contains(line, `"level":"info"`)
			})
			if len(warnings) != warned || !strings.Contains(warnings[0], incidents[0]) {
				t.Errorf("the log says %q", warnings)
			}
			if is := serversJSON(t, host); !strings.Contains(is, state) ||
				!strings.Contains(is, incidents[0]) {
				t.Errorf("the server is shown as %s", is)
			}
			if permanent {
				return
			}
			well.Store(true)
			eventually(t, "a call succeeds", func() bool {
				return clients[0].post(callWebT).message(t).Error == nil
			})
		})
	}
}
