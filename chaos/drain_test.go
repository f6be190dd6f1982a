package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// raw is a client that sends exactly what a test wants, in a session of the legacy era.
type raw struct {
	a       *arena
	session string
}

// reply is the response to a request.
type reply struct {
	status int
	header http.Header
	body   string
}

// do makes a request over a connection of its own.
func (c *raw) do(ctx context.Context, method, path, body string) reply {
	c.a.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, c.a.MCP+path, strings.NewReader(body))
	if err != nil {
		c.a.t.Fatal(err)
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + key(acme)}, "Accept": {"application/json, text/event-stream"},
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		c.a.t.Errorf("%s %s %s: %v", method, path, body, err)
		return reply{}
	}
	defer response.Body.Close()
	got := reply{status: response.StatusCode, header: response.Header}
	if method == http.MethodGet && got.status == http.StatusOK {
		return got // a stream, which goes on
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.a.t.Errorf("%s %s %s: %v", method, path, body, err)
	}
	got.body = string(text)
	return got
}

const rawPath = "/t/acme/mcp"

func (c *raw) post(body string) reply {
	c.a.t.Helper()
	return c.do(c.a.t.Context(), http.MethodPost, rawPath, body)
}

// initialize is the handshake of the legacy era.
const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"clientInfo":{"name":"raw","version":"1"},"capabilities":{}}}`

func (a *arena) opened() *raw {
	a.t.Helper()
	c := &raw{a: a}
	r := c.post(initialize)
	if c.session = r.header.Get("Mcp-Session-Id"); c.session == "" {
		a.t.Fatalf("initialize: %d %s", r.status, r.body)
	}
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *raw) call(id int, tool, arguments string) reply {
	c.a.t.Helper()
	return c.post(
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
			id, tool, arguments),
	)
}

// turnedAway checks that a request was refused, both in the form that proxies read and in the form
// that clients read.
func turnedAway(t *testing.T, label string, r reply) {
	t.Helper()
	var body struct {
		Error struct {
			Data struct {
				Reason        string
				MaybeExecuted bool
				RetryAfterMs  int
			}
		}
	}
	err := json.Unmarshal([]byte(r.body), &body)
	if d := body.Error.Data; err != nil || r.status != http.StatusServiceUnavailable ||
		r.header.Get("Retry-After") == "" ||
		d.Reason != "stopping" || d.MaybeExecuted || d.RetryAfterMs == 0 {
		t.Errorf("%s: got %d, Retry-After %q, %s, want 503 that says when to come back", label, r.status,
			r.header.Get("Retry-After"), r.body)
	}
}

// modernCall calls a tool in the revision without sessions.
func (a *arena) modernCall() (status int, text string) {
	a.t.Helper()
	r, err := a.post(waiter{"tools/list", "", "files"}, "{}")
	if err != nil {
		a.t.Error(err)
		return 0, ""
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	return r.StatusCode, string(body)
}

// A draining host lets its clients finish. It opens no new sessions, and serves existing sessions
// for two thirds of its time. Then it refuses new calls, but still accepts messages that end calls
// in flight.
func TestHostThatDrainsLetsItsClientsFinish(t *testing.T) {
	t.Parallel()
	const drain = 12 * time.Second
	a := openWith(t, fmt.Sprintf("limits: {drain: %s}", drain), "")
	a.retries = -1
	slow, user, leaver := a.opened(), a.opened(), a.opened()
	work := a.work()
	user.call(1, "files__echo", `{"message":"warm"}`)
	ended := make(chan reply, 1)
	go func() { ended <- slow.call(7, "files__sleep", `{"millis":60000}`) }() // ends with its call
	a.eventually("asleep", func() bool {
		return a.metric("mcpd_requests_in_flight", `tenant="acme"`) == 2
	})

	begun := time.Now()
	code := make(chan int, 1)
	go func() { code <- a.Stop() }() // ends with the host; awaited below
	a.eventually("draining", func() bool { return strings.Contains(a.Log(), `"event":"draining"`) })
	if r, err := a.admin.Get(a.Admin + "/readyz"); err != nil ||
		r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("/readyz: %v, %v", r, err)
	} else {
		r.Body.Close()
	}
	fresh := &raw{a: a}
	turnedAway(t, "a new session", fresh.post(initialize))
	turnedAway(t, "a new session of HTTP+SSE",
		fresh.do(t.Context(), http.MethodGet, "/t/acme/sse", ""))

	served := func(n int) bool {
		r := user.call(n, "files__echo", `{"message":"still here"}`)
		if r.status == http.StatusOK && strings.Contains(r.body, "still here") {
			return true
		}
		if time.Since(begun) < drain*2/3 {
			t.Errorf("after %v, a call of an open session is answered %d %s", time.Since(begun),
				r.status, r.body)
		}
		turnedAway(t, "a call of an open session", r)
		return false
	}
	for n := 2; served(n); n++ {
		if status, text := a.modernCall(); status != http.StatusOK && time.Since(begun) < drain*2/3 {
			t.Errorf("after %v, a request without a session is answered %d %s", time.Since(begun),
				status, text)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if took := time.Since(begun); took > drain*2/3+2*time.Second {
		t.Errorf("calls were served for %v", took)
	}
	status, text := a.modernCall()
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "stopping") {
		t.Errorf("a request without a session is answered %d %s", status, text)
	}

	// Messages that let calls in flight end are still accepted.
	if r := user.do(t.Context(), http.MethodGet, rawPath, ""); r.status != http.StatusOK {
		t.Errorf("a stream: %d %s", r.status, r.body)
	}
	if r := leaver.do(t.Context(), http.MethodDelete, rawPath, ""); r.status != http.StatusNoContent {
		t.Errorf("the end of a session: %d %s", r.status, r.body)
	}
	work.finishes()
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	if r := slow.post(cancel); r.status != http.StatusAccepted {
		t.Errorf("a cancel: %d %s", r.status, r.body)
	}
	<-ended
	if code := <-code; code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(begun); took > drain {
		t.Errorf("it took %v to end, after the last call had", took)
	}
}
