package interop

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

const callT = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{}}}`

const callWebT = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"web__t","arguments":{}}}`

// serverLog returns the log lines about servers, without debug lines.
func serverLog(host *mcptest.Host) (lines []string) {
	for line := range strings.Lines(host.Log()) {
		var l struct{ Level, Event string }
		if json.Unmarshal([]byte(line), &l) == nil && l.Level != "debug" &&
			strings.HasPrefix(l.Event, "upstream") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// errorData is the data of an error.
type errorData struct {
	Reason, Incident, Cause string
	RetryAfterMs            int64
	MaybeExecuted           bool
}

// failedCall makes a call that must fail, and returns the data of its error.
func failedCall(t *testing.T, c *wire) (is errorData) {
	t.Helper()
	m := c.post(callT).message(t)
	if m.Error == nil {
		t.Fatalf("the call succeeds: %s", m.Result)
	}
	if err := json.Unmarshal(m.Error.Data, &is); err != nil {
		t.Fatal(err)
	}
	return is
}

// clientsOf opens three clients of the server "web" that have called it.
func clientsOf(t *testing.T, host *mcptest.Host) (clients []*wire) {
	t.Helper()
	for range 3 {
		c := newWire(t, host.MCP+"/web/mcp", "")
		c.open("2025-11-25")
		if got := string(c.post(callT).result(t, "content")); !strings.Contains(got, "done") {
			t.Fatal(got)
		}
		clients = append(clients, c)
	}
	return clients
}

// serversJSON returns the admin API's view of the servers.
func serversJSON(t *testing.T, host *mcptest.Host) string {
	t.Helper()
	return string(newWire(t, "", "").do(http.MethodGet, host.Admin+"/admin/v1/servers", "").body)
}

func webAt(url string) mcptest.HostOptions {
	return mcptest.HostOptions{
		Config: fmt.Sprintf("tenants: {default: {servers: {web: {url: %q}}}}\n", url),
	}
}

// A URL server that refuses connections enters backoff, with one warning and one incident. The
// errors of calls name the incident and the retry delay. The host is ready soon after the server is
// back.
func TestServerThatRefusesConnections(t *testing.T) {
	for _, tt := range []struct {
		name     string
		sessions bool
		stream   http.HandlerFunc
	}{{"with sessions", true, open}, {"without a stream", true, nil},
		{"without sessions", false, nil}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &scripted{sessions: tt.sessions, stream: tt.stream}
			m := newRestartable(t, s)
			host := mcptest.Start(t, webAt("http://"+m.address+"/mcp"))
			clients := clientsOf(t, host)
			before := len(serverLog(host))
			m.stop()
			s.life.Add(1)
			var incidents []string
			for _, c := range clients {
				is := failedCall(t, c)
				if is.Reason != "upstream_lost" || is.RetryAfterMs <= 0 || is.MaybeExecuted ||
					is.Incident == "" {
					t.Errorf("a call is told %+v", is)
				}
				incidents = append(incidents, is.Incident)
			}
			if slices.Sort(incidents); len(slices.Compact(incidents)) != 1 {
				t.Errorf("incidents: %q", incidents)
			}
			if up := metric(t, host, "mcpd_upstream_up"); up != 0 {
				t.Errorf("mcpd_upstream_up is %v", up)
			}
			if is := serversJSON(t, host); !strings.Contains(is, `"backoff"`) ||
				!strings.Contains(is, "connection refused") || !strings.Contains(is, incidents[0]) {
				t.Errorf("the server is shown as %s", is)
			}
			if lines := serverLog(host)[before:]; len(lines) != 1 ||
				!strings.Contains(lines[0], `"level":"warn"`) || !strings.Contains(lines[0], incidents[0]) {
				t.Errorf("the log says %q", lines)
			}
			late := newWire(t, host.MCP+"/mcp", "")
			late.open("2025-11-25")
			for range 2 { // the client's connection refuses both
				late.post(callWebT)
			}
			m.start()
			for i, c := range clients {
				eventually(t, "a call succeeds", func() bool { return c.post(callT).message(t).Error == nil })
				if up := metric(t, host, "mcpd_upstream_up"); up != 1 {
					t.Errorf("call %d: mcpd_upstream_up is %v", i, up)
				}
			}
			if lines := serverLog(host)[before:]; len(lines) != 2 ||
				!strings.Contains(lines[1], `"upstream_ready"`) {
				t.Errorf("the log says %q", lines)
			}
			// Without sessions, all clients use one connection, which carries the call.
			if !tt.sessions {
				return
			}
			host.Stop()
			if lines := rejected(host); len(lines) != 1 || !strings.Contains(lines[0], `"server":"web"`) ||
				!strings.Contains(lines[0], `"name":"web__t"`) ||
				!strings.Contains(lines[0], `"address":"127.0.0.1:`) ||
				!strings.Contains(lines[0], `"suppressed":`) || !strings.Contains(lines[0], incidents[0]) {
				t.Errorf(
					"no line says which call was rejected last, whose and for which incident, and counts: %q",
					lines,
				)
			}
		})
	}
}

// rejected returns the log lines of rejected requests.
func rejected(host *mcptest.Host) []string {
	return slices.DeleteFunc(strings.Split(host.Log(), "\n"), func(line string) bool {
		return !strings.Contains(line, `"event":"rejected"`)
	})
}

// Calls wait for a server that is back within a moment, and their clients get no error. The
// sessions at the server continue if only its port was closed for a while.
func TestCallsWaitForAServerThatIsBackSoon(t *testing.T) {
	s := &scripted{sessions: true, stream: open}
	m := newRestartable(t, s)
	host := mcptest.Start(t, webAt("http://"+m.address+"/mcp"))
	c := clientsOf(t, host)[0]
	began := s.sessionsOpened.Load()
	m.stop()
	back := time.AfterFunc(time.Second, m.start)
	defer back.Stop()
	if got := string(c.post(callT).result(t, "content")); !strings.Contains(got, "done") {
		t.Error(got)
	}
	if n := s.sessionsOpened.Load() - began; n != 0 {
		t.Errorf("%d sessions were begun anew with a server that knows the old ones", n)
	}
}

// A program that never completes its handshake is started only when a client needs it, and the host
// backs off. Every place that shows the cause of the failure shows the program's output.
func TestProgramThatNeverShakesHands(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{
		Config: `tenants: {default: {servers: {web: {command: sh, args: [-c, "echo Listening on port 3000; echo oops >&2; exec sleep 1000"], start_timeout: 1s}}}}` + "\n",
	})
	const printed = `Listening on port 3000`
	c := newWire(t, host.MCP+"/mcp", "")
	c.open("2025-11-25")
	is := c.post(callWebT).message(t)
	if is.Error == nil || !strings.Contains(is.Error.Message, printed) ||
		!strings.Contains(string(is.Error.Data), "oops") {
		t.Fatalf("the call is told %+v", is.Error)
	}
	if shown := serversJSON(t, host); !strings.Contains(shown, printed) ||
		!strings.Contains(shown, `"crash_loop"`) {
		t.Errorf("shown as %s", shown)
	}
	if tree := string(newWire(t, "", "").do(http.MethodGet, host.Admin+"/admin/v1/tree",
		"").body); !strings.Contains(tree, printed) {
		t.Errorf("the tree says %s", tree)
	}
	starts := func() int { return strings.Count(host.Log(), `"event":"upstream_starting"`) }
	before := starts()
	time.Sleep(4 * time.Second)
	if n := starts() - before; n != 0 {
		t.Errorf("it was started %d times for nobody", n)
	}
	for range 3 {
		eventually(t, "it is tried again", func() bool {
			n := starts()
			c.post(callWebT)
			return starts() > n
		})
	}
	if shown := strings.Join(serverLog(host), "\n"); !strings.Contains(shown, printed) {
		t.Errorf("the log does not say why: %s", shown)
	}
}
