package resilience

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// B5, F12: a tenant that fills the memory of the host is told to come back later, and so is everybody else who begins something; nobody
// loses what was begun. When it is done the host is as before.
func TestMemoryIsFull(t *testing.T) {
	const crowd = 10 // one tenant alone has not the room to fill it
	h := crowded(t, crowd)
	open := func(tenant string) *wire {
		return &wire{t: t, url: h.MCP + "/t/" + tenant + "/small/mcp", headers: http.Header{}}
	}
	modest, leaving := open("modest"), open("modest")
	all := []*wire{modest, leaving}
	for n := range crowd {
		all = append(all, open(fmt.Sprintf("greedy-%d", n)))
	}
	for _, w := range all {
		if a := w.initialize(); a.status != http.StatusOK {
			t.Fatalf("initialize: %v", a)
		}
		if a := w.call("echo", `{"message":"x"}`); !a.says("x") {
			t.Fatalf("a call on a host at rest: %v", a)
		}
	}

	// Each call holds its arguments for as long as it takes. Not many are on their way at a time: what is to fill the memory is what the host has in hand,
	// not what it has yet to read, which on a slow machine takes longer than a body may.
	const held, coming = 2 << 20, 32
	params := `{"millis":15000,"pad":"` + strings.Repeat("x", held) + `"}`
	var calls sync.WaitGroup
	var answered atomic.Int64
	inFlight := func() int {
		return int(total(t, (&wire{t: t, url: h.Admin + "/metrics"}).do(http.MethodGet, "").body, `mcpd_requests_in_flight{method="tools/call"`))
	}
	full := make(chan answer, 1)
	taken, begun := 0, time.Now()
	for ; len(full) == 0 && time.Since(begun) < patience; taken++ {
		greedy := all[2+taken%crowd]
		calls.Go(func() {
			defer answered.Add(1)
			switch a := greedy.call("sleep", params); {
			case a.busy("host"):
				select {
				case full <- a:
				default:
				}
			case !a.says("slept 15000 ms") && !a.busy("input of server small") && !a.busy("tenant "): // which have bounds of their own
				t.Errorf("a call that was taken: %v", a)
			}
		})
		for len(full) == 0 && time.Since(begun) < patience && taken+1-int(answered.Load())-inFlight() >= coming {
			time.Sleep(10 * time.Millisecond)
		}
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

// A tenant whose clients do not read what they asked for waits for them. Nobody else does, and the host keeps within its memory.
func TestAnswersThatNobodyReads(t *testing.T) {
	h := crowded(t, 1)
	modest := &wire{t: t, url: h.MCP + "/t/modest/small/mcp", headers: http.Header{}}
	greedy := &wire{t: t, url: h.MCP + "/t/greedy-0/small/mcp", headers: http.Header{}}
	for _, w := range []*wire{modest, greedy} {
		if a := w.initialize(); a.status != http.StatusOK {
			t.Fatalf("initialize: %v", a)
		}
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{"bytes":12000000}}}`
	for range 24 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.MCP, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /t/greedy-0/small/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"Mcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\nContent-Length: %d\r\n\r\n%s", greedy.headers.Get("Mcp-Session-Id"), len(body), body)
	}
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if a := modest.call("echo", `{"message":"x"}`); !a.says("x") {
			t.Fatalf("a call of another tenant: %v", a)
		}
	}
	if got := counted(t, h, `mcpd_requests_in_flight{method="tools/call",server="small",tenant="greedy-0"}`); got == "" || got == "0" {
		t.Errorf("%q calls wait", got)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var kib int
	if _, err := fmt.Sscan(peak, &kib); err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d MiB at most", kib>>10); kib>>10 > 192 && !mcptest.Raced {
		t.Errorf("the host of 128 MiB took %d MiB, for 288 MB of answers", kib>>10)
	}
}

// crowded is a host with little memory, and a number of greedy tenants beside a modest one.
func crowded(t *testing.T, greedy int) *mcptest.Host {
	t.Helper()
	server := fmt.Sprintf("{servers: {small: {command: %q, share: tenant}}}\n", mcptest.Server(t))
	config := "limits: {memory: 128MiB}\ntenants:\n  modest: " + server
	for n := range greedy {
		config += fmt.Sprintf("  greedy-%d: ", n) + server
	}
	return mcptest.Start(t, mcptest.HostOptions{Config: config})
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
