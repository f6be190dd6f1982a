package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"mcpd/internal/mcptest"
)

// A host that is told to stop lets requests end for a limited time. Then it answers the remaining
// requests, with time for clients to read the answers, and says whether each request may have been
// executed. That includes a request that waits for its user. The host ends in order, with all of
// its children.
func TestHostThatStopsAnswersWhatIsInFlight(t *testing.T) {
	t.Parallel()
	const (
		drain = 3 * time.Second
		// slack is time for clients to read their answers, and for an orphan that is between fork and
		// exec, which may last a second on a busy machine.
		slack = 2 * time.Second
	)
	a := openWith(t, "limits: {drain: 3s, session_init: 3s}", "")
	a.retries = -1 // there will be no host to reconnect to
	session, _ := a.client(acme, nil)
	slow := make(chan error, 1)
	go func() { // ends with its call
		_, err := a.call(session, "files__sleep", map[string]any{"millis": 60_000})
		slow <- err
	}()
	parked := a.work()
	a.eventually("asleep", func() bool {
		return a.metric("mcpd_requests_in_flight", `tenant="acme"`) == 2
	})
	below := children(a.PID())

	start := time.Now()
	code := a.Stop()
	if took := time.Since(start); code != 0 || took < drain/2 || took > drain+slack {
		t.Errorf("exit code %d after %v, want 0 within %v of %v", code, took, slack, drain)
	}
	stopped(t, <-slow)
	stopped(t, <-parked.outcome)
	gone(a, below)
}

// stopped checks the error of a call that the host's end has ended.
func stopped(t *testing.T, err error) {
	t.Helper()
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		t.Errorf("call in flight: got %v, want an answer", err)
		return
	}
	var data struct {
		Reason, Server string
		MaybeExecuted  bool
	}
	if err := json.Unmarshal(e.Data, &data); err != nil || e.Code != -32008 ||
		!strings.Contains(e.Message, "host is stopping") ||
		data.Reason != "stopping" || data.Server != "files" || !data.MaybeExecuted {
		t.Errorf(
			"call in flight: got %d %s %s, want -32008 that says the host is stopping and the call may "+
				"have been executed", e.Code, e.Message, e.Data,
		)
	}
}

// gone checks that processes end.
func gone(a *arena, pids []int) {
	a.t.Helper()
	for _, pid := range pids {
		a.eventually("gone", func() bool { s := stat(pid); return s == nil || s[0] == "Z" })
	}
}

// A second signal ends the host at once, and no child outlives it.
func TestSecondSignalEndsTheHostAtOnce(t *testing.T) {
	t.Parallel()
	for _, second := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(second.String(), func(t *testing.T) {
			t.Parallel()
			a := open(t, "")
			a.retries = -1
			session, _ := a.client(acme, nil)
			slow := make(chan error, 1)
			go func() { // ends with its call
				_, err := a.call(session, "files__sleep", map[string]any{"millis": 60_000})
				slow <- err
			}()
			a.eventually("asleep", func() bool {
				return a.metric("mcpd_requests_in_flight", `tenant="acme"`) == 1
			})
			below := children(a.PID())

			if err := syscall.Kill(a.PID(), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			a.eventually("draining", func() bool { return strings.Contains(a.Log(), `"event":"draining"`) })
			start := time.Now()
			if code := a.Signal(second); code != 130 || time.Since(start) > time.Second {
				t.Errorf("exit code %d after %v, want 130 at once", code, time.Since(start))
			}
			if err := <-slow; err == nil {
				t.Error("the call succeeded")
			}
			gone(a, below)
		})
	}
}

// waiter is a request to a server that never answers. Its client has a session of its own.
type waiter struct{ method, name, server string }

// post sends the request. A handshake begins a session of the legacy era; all other requests are
// stateless. Different capabilities make different clients.
func (a *arena) post(w waiter, capabilities string) (*http.Response, error) {
	header, params := http.Header{},
		`"protocolVersion":"2025-11-25","clientInfo":{"name":"chaos","version":"1"},"capabilities":{}`
	if w.method != "initialize" {
		params = fmt.Sprintf(`"name":%q,"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientInfo":{"name":"chaos","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}`, w.name, capabilities)
		header = http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {w.method}}
	}
	if w.name != "" {
		header.Set("Mcp-Name", w.name)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, w.method, params)
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.url(acme, w.server),
		strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	header.Set("Authorization", "Bearer "+key(acme))
	r.Header = header
	return (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
}

// A request that waits for a starting server has no exchange yet, and still is answered when the
// host stops, at the end of the drain or at once. A subscription ends with its result.
func TestHostThatStopsAnswersWhoeverWaitsForAServer(t *testing.T) {
	t.Parallel()
	for _, twice := range []bool{false, true} {
		t.Run(fmt.Sprintf("twice=%t", twice), func(t *testing.T) {
			t.Parallel()
			a := openWith(t, "limits: {drain: 3s}",
				fmt.Sprintf("silent: {command: %q, args: [\"-silent\"], start_timeout: 30s}",
					mcptest.Server(t)))
			type outcome struct {
				waiter
				text string
				err  error
			}
			outcomes := make(chan outcome)
			// ends with the response, which the host ends
			read := func(w waiter, r *http.Response, err error) {
				var text []byte
				if err == nil {
					text, err = io.ReadAll(r.Body)
					err = errors.Join(err, r.Body.Close())
				}
				outcomes <- outcome{w, string(text), err}
			}
			listen := waiter{"subscriptions/listen", "", "files"}
			r, err := a.post(listen, "{}")
			if err != nil {
				t.Fatal(err)
			}
			go read(listen, r, nil)
			all := []waiter{
				{"initialize", "", "silent"}, {"server/discover", "", "silent"}, {"tools/list", "", "silent"},
				{"tools/call", "echo", "silent"},
			}
			// so that each is a client of its own
			kinds := []string{"", `{"elicitation":{}}`, `{"sampling":{}}`, `{"roots":{}}`}
			for i, w := range all {
				go func() {
					r, err := a.post(w, kinds[i])
					read(w, r, err)
				}()
			}
			a.eventually("waiting", func() bool {
				return a.metric("mcpd_sessions")+a.metric("mcpd_peers") == float64(len(all)+1)
			})

			if twice {
				if err := syscall.Kill(a.PID(), syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				a.eventually("draining", func() bool { return strings.Contains(a.Log(), `"event":"draining"`) })
			}
			ended := make(chan int, 1)
			go func() { ended <- a.Stop() }()
			for range len(all) + 1 {
				o := <-outcomes
				want := `"reason":"stopping","server":"silent","maybeExecuted":false,"retryable":true`
				if o.waiter == listen {
					want = `"resultType":"complete"`
				}
				if o.err != nil || strings.Count(o.text, want) != 1 {
					t.Errorf("%s: got %q, %v, want %s in it once", o.method, o.text, o.err, want)
				}
			}
			if code := <-ended; code != 0 && !twice {
				t.Errorf("exit code %d", code)
			}
		})
	}
}
