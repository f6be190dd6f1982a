package resilience

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// B5, F12: a tenant that fills the memory of the host is told to come back later, and so is everybody else who begins something; nobody
// loses what was begun. When it is done the host is as before.
func TestMemoryIsFull(t *testing.T) {
	h := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(`
limits: {memory: 128MiB}
tenants:
  greedy: {servers: {small: {command: %[1]q, share: tenant}}}
  modest: {servers: {small: {command: %[1]q, share: tenant}}}
`, mcptest.Server(t))})
	open := func(tenant string) *wire {
		w := &wire{t: t, url: h.MCP + "/t/" + tenant + "/small/mcp", headers: http.Header{}}
		return w
	}
	greedy, modest, leaving := open("greedy"), open("modest"), open("modest")
	for _, w := range []*wire{greedy, modest, leaving} {
		if a := w.initialize(); a.status != http.StatusOK {
			t.Fatalf("initialize: %v", a)
		}
	}
	if a := modest.call("echo", `{"message":"x"}`); !a.says("x") {
		t.Fatalf("a call on a host at rest: %v", a)
	}
	if a := greedy.call("echo", `{"message":"x"}`); !a.says("x") {
		t.Fatalf("a call on a host at rest: %v", a)
	}

	// Each call holds its arguments for as long as it takes.
	const held = 2 << 20
	params := `{"millis":6000,"pad":"` + strings.Repeat("x", held) + `"}`
	var calls sync.WaitGroup
	full := make(chan answer, 1)
	taken, begun := 0, time.Now()
	for ; len(full) == 0 && time.Since(begun) < 5*time.Second; taken++ {
		calls.Go(func() {
			switch a := greedy.call("sleep", params); {
			case a.busy("host"):
				select {
				case full <- a:
				default:
				}
			case !a.says("slept 6000 ms") && !a.busy("input of server small"): // a pipe has its own bound
				t.Errorf("a call that was taken: %v", a)
			}
		})
		time.Sleep(30 * time.Millisecond)
	}
	if len(full) == 0 {
		t.Fatalf("%d calls that hold %d bytes each fill no memory of 128 MiB:\n%s", taken, held, h.Log())
	}
	if a := modest.call("echo", `{"message":"x"}`); !a.busy("host") {
		t.Errorf("a new call: %v", a)
	}
	if a := open("modest").initialize(); !a.busy("host") {
		t.Errorf("a new session: %v", a)
	}
	if a := modest.request("ping", "{}"); a.status != http.StatusOK || strings.Contains(a.body, "error") {
		t.Errorf("a ping: %v", a)
	}
	if a := leaving.do(http.MethodDelete, ""); a.status >= 300 {
		t.Errorf("the end of a session: %v", a)
	}
	if a := (&wire{t: t, url: h.Admin + "/readyz"}).do(http.MethodGet, ""); a.status != http.StatusOK || !strings.Contains(a.body, "degraded") {
		t.Errorf("readiness: %v", a)
	}
	if got := counted(t, h, `mcpd_rejections_total{reason="overloaded"}`); got == "" || got == "0" {
		t.Errorf("%q refusals are counted", got)
	}

	calls.Wait()
	ended := time.Now()
	eventually(t, "normal again", func() bool { return counted(t, h, "mcpd_overload_level") == "0" })
	if took := time.Since(ended); took > 10*time.Second {
		t.Errorf("it took %v to be normal again", took)
	} else {
		t.Logf("%d calls; normal %v after the last", taken, took.Round(time.Millisecond))
	}
	if a := open("modest").initialize(); a.status != http.StatusOK {
		t.Errorf("a new session afterwards: %v", a)
	}
	if a := modest.call("echo", `{"message":"x"}`); !a.says("x") {
		t.Errorf("a call afterwards: %v", a)
	}
}

// counted is the value of a metric, empty when there is none.
func counted(t *testing.T, h *mcptest.Host, name string) string {
	t.Helper()
	a := (&wire{t: t, url: h.Admin + "/metrics"}).do(http.MethodGet, "")
	for line := range strings.Lines(a.body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// wire is a client that sees the status and the header fields of its answers.
type wire struct {
	t       *testing.T
	url     string
	headers http.Header
}

// answer is what came back.
type answer struct {
	status      int
	retry, body string
	err         error
}

func (a answer) String() string {
	return fmt.Sprintf("%d, Retry-After %q, %.300s, %v", a.status, a.retry, a.body, a.err)
}

// busy reports that something has no room now, in every way in which that is said.
func (a answer) busy(what string) bool {
	return a.status == http.StatusServiceUnavailable && a.retry != "" && strings.Contains(a.body, `"code":-32010`) &&
		strings.Contains(a.body, `"reason":"overloaded"`) && strings.Contains(a.body, `"retryAfterMs":`) && strings.Contains(a.body, what+" is overloaded")
}

func (a answer) says(text string) bool {
	return a.status == http.StatusOK && strings.Contains(a.body, `"text":"`+text+`"`)
}

func (w *wire) initialize() answer {
	a := w.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}`)
	if a.status == http.StatusOK {
		w.headers.Set("Mcp-Protocol-Version", "2025-11-25")
		w.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return a
}

func (w *wire) call(tool, arguments string) answer {
	return w.request("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
}

func (w *wire) request(method, params string) answer {
	return w.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
}

func (w *wire) do(method, body string) (a answer) {
	r, err := http.NewRequestWithContext(context.WithoutCancel(w.t.Context()), method, w.url, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	for name, values := range w.headers {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	transport := &http.Transport{DisableKeepAlives: true} // leaves nothing to be counted
	response, err := transport.RoundTrip(r)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if id := response.Header.Get("Mcp-Session-Id"); id != "" && method == http.MethodPost {
		w.headers.Set("Mcp-Session-Id", id)
	}
	return answer{response.StatusCode, response.Header.Get("Retry-After"), string(text), err}
}
