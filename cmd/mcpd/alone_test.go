package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcpd/gateway/tenant"
	"mcpd/protocol/jsonrpc"
)

// fakeHost is a host whose answers to stateless requests the test chooses. For status 0 the host
// leaves the request unanswered.
type fakeHost struct {
	answer func(r *http.Request, m jsonrpc.Message) (status int, text string)
	// came receives one value for each request that is left unanswered.
	came chan struct{}
	// left receives one value for each unanswered request that the client abandons.
	left chan struct{}

	mu  sync.Mutex
	got []string
}

func (e *fakeHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, err := jsonrpc.Decode(body, jsonrpc.Limits{})
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	e.got = append(e.got, fmt.Sprintf("%s %s %s", r.Header.Get("Mcp-Protocol-Version"),
		r.Header.Get("Mcp-Method"), r.Header.Get("Mcp-Param-Region")))
	e.mu.Unlock()
	status, text := e.answer(r, m)
	if status == 0 {
		e.came <- struct{}{}
		<-r.Context().Done()
		e.left <- struct{}{}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID.Raw(), text)
}

// joinFakeHost runs a client of an elsewhere host. The client leaves at the end of the test.
func joinFakeHost(t *testing.T, e *fakeHost) (report func(string), hear func() string) {
	e.came, e.left = make(chan struct{}, 1), make(chan struct{}, 1)
	host := httptest.NewServer(e)
	t.Cleanup(host.Close)
	inR, in := io.Pipe()
	out, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- join(t.Context(), inR, outW, io.Discard, host.URL, tenant.Route{Tenant: "default"})
		outW.Close()
	}()
	lines := bufio.NewScanner(out)
	t.Cleanup(func() {
		in.Close()
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
	})
	report = func(line string) { io.WriteString(in, line+"\n") }
	hear = func() string {
		if !lines.Scan() {
			t.Fatal("the output has ended")
		}
		return lines.Text()
	}
	return report, hear
}

func standalone(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		id, method, params)
}

// A client on stdio knows no header fields. The bridge looks up the fields that the host wants:
// when the host says that one is missing, and in the lists that the client requests.
func TestJoinedCallRepeatsItsArguments(t *testing.T) {
	e := &fakeHost{answer: func(r *http.Request, m jsonrpc.Message) (int, string) {
		switch {
		case m.Method == "tools/list" && strings.Contains(string(m.Params), "progressToken"):
			return 200, `"error":{"code":-32603,"message":"nobody waits for progress of this"}`
		case m.Method == "tools/list" && strings.Contains(string(m.Params), `"cursor":"two"`):
			return 200, `"result":{"tools":[{"name":"ask","inputSchema":{"type":"object","properties":{"where":{"type":"string","x-mcp-header":"Region"}}}}]}`
		case m.Method == "tools/list":
			return 200, `"result":{"tools":[],"nextCursor":"two"}`
		case r.Header.Get("Mcp-Param-Region") == "":
			return 400, `"error":{"code":-32020,"message":"header Mcp-Param-Region: missing"}`
		}
		return 200, `"result":{"content":[]}`
	}}
	report, hear := joinFakeHost(t, e)
	for id := 1; id <= 2; id++ {
		report(standalone(id, "tools/call", `"name":"ask","arguments":{"where":"north"},`))
		if got, want := hear(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`,
			id); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	report(standalone(3, "tools/call", `"name":"other",`))
	if got := hear(); !strings.Contains(got, `"id":3,"error":{"code":-32020`) {
		t.Errorf("a field that nothing tells of: got %s", got)
	}
	want := []string{
		"2026-07-28 tools/call ", "2026-07-28 tools/list ", "2026-07-28 tools/list ",
		"2026-07-28 tools/call north", "2026-07-28 tools/call north",
		"2026-07-28 tools/call ", "2026-07-28 tools/list ", "2026-07-28 tools/list ",
		"2026-07-28 tools/call ",
	}
	if !slices.Equal(e.got, want) {
		t.Errorf("the host got\n%q\nwant\n%q", e.got, want)
	}
}

// Cancelling a request closes its connection (2026-07-28 §basic/patterns/cancellation).
func TestJoinedCancelLeaves(t *testing.T) {
	e := &fakeHost{answer: func(_ *http.Request, m jsonrpc.Message) (int, string) {
		if m.Method == "tools/call" {
			return 0, ""
		}
		return 200, `"result":{}`
	}}
	report, hear := joinFakeHost(t, e)
	report(standalone(1, "tools/call", `"name":"slow",`))
	<-e.came
	report(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	<-e.left
	report(standalone(1, "tools/list", ""))
	if got := hear(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("got %s", got)
	}
}

// A request that names a revision unknown to this program is refused here.
func TestJoinedRequestOfAnUnknownRevision(t *testing.T) {
	report, hear := joinFakeHost(t,
		&fakeHost{answer: func(*http.Request, jsonrpc.Message) (int, string) {
			return 200, `"result":{}`
		}})
	report(strings.Replace(standalone(1, "tools/list", ""), "2026-07-28", "2099-01-01", 1))
	if got := hear(); !strings.Contains(got, `"code":-32022`) ||
		!strings.Contains(got, `"supported":["2026-07-28"]`) {
		t.Errorf("got %s", got)
	}
}
