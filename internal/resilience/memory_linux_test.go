package resilience

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// Tenants that fill the memory that tenants may use are told to come back later, each because of
// its own use. Meanwhile a tenant below its share begins calls and sessions, and no call that was
// begun is lost. Afterwards the host is as before.
func TestMemoryIsFull(t *testing.T) {
	const crowd = 10 // one tenant alone may not use enough to fill the memory
	h := hostWithTenants(t, crowd)
	open := func(tenant string) *rawClient { return openWire(t, h, tenant) }
	modest, leaving := open("modest"), open("modest")
	all := []*rawClient{modest, leaving}
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

	// Each call holds its arguments until it is told to end. More calls come than there is room for,
	// so every further call finds the memory full.
	const held, coming = 2 << 20, 100
	end := filepath.Join(t.TempDir(), "end")
	body := call("hold", `{"file":"`+end+`","pad":"`+strings.Repeat("x", held)+`"}`)
	var senders sync.WaitGroup
	var taken atomic.Int64
	sending, stop := context.WithCancel(t.Context())
	ends := func() {
		stop()
		if err := os.WriteFile(end, nil, 0o600); err != nil {
			t.Error(err)
		}
		senders.Wait()
	}
	defer ends()
	for n := range coming {
		greedy := all[2+n%crowd]
		senders.Go(func() {
			for sending.Err() == nil {
				switch a := greedy.do(http.MethodPost, body); {
				case a.says("held"):
					taken.Add(1)
				case !greedy.refused(a):
					t.Errorf("a call that was taken: %v", a)
				}
			}
		})
	}
	eventually(t, "calls are refused", func() bool {
		return strings.Trim(metricValue(t, h, `mcpd_rejections_total{reason="overloaded"}`), "0") != ""
	})
	served := 0
	for end := time.Now().Add(
		3 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if a := modest.call("echo", `{"message":"x"}`); !a.says("x") {
			t.Errorf("a call of a tenant below its share: %v", a)
		} else {
			served++
		}
		opened := open("modest")
		if a := opened.initialize(); a.status != http.StatusOK {
			t.Errorf("a session of a tenant below its share: %v", a)
		} else {
			opened.do(http.MethodDelete, "")
		}
	}
	if t.Logf("%d calls of the tenant below its share were served", served); served == 0 {
		t.Error("none was")
	}
	if a := modest.request("ping", "{}"); a.status != http.StatusOK ||
		strings.Contains(a.body, "error") {
		t.Errorf("a ping: %v", a)
	}
	if a := leaving.do(http.MethodDelete, ""); a.status >= 300 {
		t.Errorf("the end of a session: %v", a)
	}
	if a := (&rawClient{t: t, url: h.Admin + "/readyz"}).do(http.MethodGet,
		""); a.status != http.StatusOK || !strings.Contains(a.body, "degraded") {
		t.Errorf("readiness: %v", a)
	}
	ends()
	ended := time.Now()
	eventually(t, "normal again", func() bool {
		return metricValue(t, h, "mcpd_overload_level") == "0"
	})
	if took := time.Since(ended); took > 10*time.Second {
		t.Errorf("it took %v to be normal again", took)
	} else {
		t.Logf("%d calls; normal %v after the last", taken.Load(), took.Round(time.Millisecond))
	}
	if a := open("modest").initialize(); a.status != http.StatusOK {
		t.Errorf("a new session afterwards: %v", a)
	}
	if a := modest.call("echo", `{"message":"x"}`); !a.says("x") {
		t.Errorf("a call afterwards: %v", a)
	}
}

// Bodies of all tenants come at once and would fill the memory several times. They are read as
// room becomes free. A client is told to come back later if no room becomes free in time. No
// client is told that it was too slow.
func TestBodiesOfManyThatFillTheMemory(t *testing.T) {
	const crowd, each, size = 10, 30, 2 << 20
	h := hostWithTenants(t, crowd)
	modest := openWire(t, h, "modest")
	all := []*rawClient{modest}
	for n := range crowd {
		all = append(all, openWire(t, h, fmt.Sprintf("greedy-%d", n)))
	}
	for _, w := range all {
		if a := w.initialize(); a.status != http.StatusOK {
			t.Fatalf("initialize: %v", a)
		}
	}
	body := call("sleep", `{"millis":6000,"pad":"`+strings.Repeat("x", size)+`"}`)
	var calls sync.WaitGroup
	var slept, busy, over atomic.Int64
	for _, greedy := range all[1:] {
		for range each {
			calls.Go(func() {
				defer over.Add(1)
				switch a := greedy.do(http.MethodPost, body); {
				case a.says("slept 6000 ms"):
					slept.Add(1)
				case greedy.refused(a):
					busy.Add(1)
				default:
					t.Errorf("a large call: %v", a)
				}
			})
		}
	}
	for over.Load() < crowd*each {
		if a := modest.call("echo", `{"message":"x"}`); !a.says("x") {
			t.Errorf("a small call of another tenant: %v", a)
		}
		time.Sleep(5 * time.Millisecond)
	}
	calls.Wait()
	kib := peakRSS(t, h)
	if t.Logf("%d calls were taken, %d were not; %d MiB at most", slept.Load(), busy.Load(),
		kib>>10); slept.Load() == 0 {
		t.Error("no call was taken")
	}
	const most = 192 // MiB: half as much again, for garbage that is not collected yet
	if kib>>10 > most && !mcptest.RaceEnabled {
		t.Errorf("the host of 128 MiB took %d MiB, for %d MiB of requests", kib>>10, crowd*each*size>>20)
	}
}

// A tenant whose clients do not read their answers waits for them. No other tenant waits, and the
// host keeps within its memory.
func TestAnswersThatNobodyReads(t *testing.T) {
	h := hostWithTenants(t, 1)
	modest, greedy := openWire(t, h, "modest"), openWire(t, h, "greedy-0")
	for _, w := range []*rawClient{modest, greedy} {
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
		fmt.Fprintf(c, "POST /t/greedy-0/small/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
			"application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"Mcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\nContent-Length: %d\r\n\r\n%s",
			greedy.headers.Get("Mcp-Session-Id"), len(body), body)
	}
	for end := time.Now().Add(
		5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if a := modest.call("echo", `{"message":"x"}`); !a.says("x") {
			t.Fatalf("a call of another tenant: %v", a)
		}
	}
	if got := metricValue(
		t, h, `mcpd_requests_in_flight{method="tools/call",server="small",tenant="greedy-0"}`,
	); got == "" || got == "0" {
		t.Errorf("%q calls wait", got)
	}
	kib := peakRSS(t, h)
	if t.Logf("%d MiB at most", kib>>10); kib>>10 > 192 && !mcptest.RaceEnabled {
		t.Errorf("the host of 128 MiB took %d MiB, for 288 MB of answers", kib>>10)
	}
}

// hostWithTenants starts a host with little memory and with a number of greedy tenants beside a
// modest one.
func hostWithTenants(t *testing.T, greedy int) *mcptest.Host {
	t.Helper()
	server := fmt.Sprintf("{servers: {small: {command: %q, share: tenant}}}\n", mcptest.Server(t))
	// The time-outs are long because the clients are slow on a busy machine.
	config := "limits: {memory: 128MiB, call_timeout: 5m, header_timeout: 30s}\ntenants:\n  modest: " +
		server
	for n := range greedy {
		config += fmt.Sprintf("  greedy-%d: ", n) + server
	}
	return mcptest.Start(t, mcptest.HostOptions{Config: config})
}

// peakRSS returns the most memory that a host has ever had, in KiB.
func peakRSS(t *testing.T, h *mcptest.Host) (kib int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, most, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(most, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}

// metricValue returns the value of a metric, or "" if there is none.
func metricValue(t *testing.T, h *mcptest.Host, name string) string {
	t.Helper()
	a := (&rawClient{t: t, url: h.Admin + "/metrics"}).do(http.MethodGet, "")
	for line := range strings.Lines(a.body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// rawClient is a client that sees the status and the header fields of its responses.
type rawClient struct {
	t           *testing.T
	url, tenant string
	headers     http.Header
}

// openWire returns a client of a tenant of a crowded host.
func openWire(t *testing.T, h *mcptest.Host, tenant string) *rawClient {
	return &rawClient{t, h.MCP + "/t/" + tenant + "/small/mcp", tenant, http.Header{}}
}

// refused reports whether the call was told to come back, by the tenant or the server. Each has
// bounds of its own.
func (w *rawClient) refused(a answer) bool {
	return a.overloaded("tenant "+w.tenant) || a.overloaded("input of server small")
}

// answer is the response to a request.
type answer struct {
	status      int
	retry, body string
	err         error
}

func (a answer) String() string {
	return fmt.Sprintf("%d, Retry-After %q, %.300s, %v", a.status, a.retry, a.body, a.err)
}

// overloaded reports whether the response says that something is overloaded, in every way: by
// status, Retry-After, and the error's code, reason, data and message.
func (a answer) overloaded(label string) bool {
	return a.status == http.StatusServiceUnavailable && a.retry != "" &&
		strings.Contains(a.body, `"code":-32010`) &&
		strings.Contains(a.body, `"reason":"overloaded"`) &&
		strings.Contains(a.body, `"retryAfterMs":`) && strings.Contains(a.body, label+" is overloaded")
}

func (a answer) says(text string) bool {
	return a.status == http.StatusOK && strings.Contains(a.body, `"text":"`+text+`"`)
}

func (w *rawClient) initialize() answer {
	a := w.request("initialize",
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}`)
	if a.status == http.StatusOK {
		w.headers.Set("Mcp-Protocol-Version", "2025-11-25")
		w.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return a
}

func (w *rawClient) call(tool, arguments string) answer {
	return w.do(http.MethodPost, call(tool, arguments))
}

func (w *rawClient) request(method, params string) answer {
	return w.do(http.MethodPost, request(method, params))
}

// call returns the body of a tools/call. A large body is built once for all clients that send it.
func call(tool, arguments string) string {
	return request("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
}

// request returns the body of a request.
func request(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

func (w *rawClient) do(method, body string) (a answer) {
	r, err := http.NewRequestWithContext(context.Background(), method, w.url, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	for name, values := range w.headers {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	transport := &http.Transport{DisableKeepAlives: true} // leaves no connection to be counted
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
