//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do to a host

package interop

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// A server that asks its user and answers the call without waiting gets the user's answer later.
func TestAnswerToAServerThatDoesNotWait(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {servers: {proc: %s, web: {url: %q}}}}\n",
		selfConfig(t, serveOld, "proc"), serveWithSessions(t, newFixture("web").legacyOnly()))})
	for _, server := range []string{"proc", "web"} {
		for _, how := range []string{"during", "alone"} {
			t.Run(server+"/"+how, func(t *testing.T) {
				c := dialIn(t, legacy, host.MCP+"/"+server+"/mcp", "")
				c.answerDelay = 500 * time.Millisecond
				if got := c.call("ask_later", map[string]any{"text": how, "level": how}); got != "asked" {
					t.Errorf("the call: %q", got)
				}
				if got := c.call("await_answer", nil); got != "accept ann for "+how {
					t.Errorf("the answer: %q", got)
				}
			})
		}
	}
}

// An unanswered question of a 2026-07-28 client holds one instance of its server. Later clients
// with the same capabilities use another instance. They still receive notifications of the changes
// they make there, and their lists show the changes.
func TestUnansweredQuestionEndsNoNews(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {servers: {past: %s}}}\n", selfConfig(t, serveOld, "past"))})
	const uri = "fixture://past/watched"
	earlier := dialIn(t, modern, host.MCP+"/past/mcp", "")
	earlier.awaitConfirmation()
	// the client does not return with an answer
	newWire(t, host.MCP+"/past/mcp", "").callForState("elicit", "a name")
	for _, tool := range []string{"first", "second"} {
		later := dialIn(t, modern, host.MCP+"/past/mcp", "")
		later.awaitConfirmation()
		if err := later.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
		later.awaitConfirmation()
		later.call("touch", map[string]any{"text": uri})
		later.await("updated " + uri)
		later.call("add_tool", map[string]any{"text": tool})
		for _, c := range []*client{earlier, later} {
			c.await("tools")
			if !slices.Contains(c.names(), tool) {
				t.Errorf("%q is not in %q", tool, c.names())
			}
		}
		if got := earlier.call(tool, nil); got != "I am new" {
			t.Errorf("%q", got)
		}
	}
}

// openDialogs opens one session for each instance that a server may have. Each session has a
// question that its user does not answer. Away closes the connections without ending the sessions,
// like a client that exits silently.
func openDialogs(t *testing.T, revision, url string) (away func()) {
	t.Helper()
	ctx, away := context.WithCancel(t.Context())
	t.Cleanup(away)
	for n := range 4 { // max_instances
		w := newWire(t, url, "")
		if revision == modern {
			w.callForState("elicit", fmt.Sprint(n))
			continue
		}
		r := w.post(strings.Replace(hello, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
		w.header.Set("Mcp-Session-Id", r.header.Get("Mcp-Session-Id"))
		w.header.Set("Mcp-Protocol-Version", legacy)
		w.post(initialized)
		w.stream(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"elicit","arguments":{"text":"a name"}}}`,
			"elicitation/create")
	}
	return away
}

// stream posts a request and reads the answer's stream until a line contains word.
func (w *wire) stream(ctx context.Context, body, word string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = w.header.Clone()
	answer, err := w.carrier.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { answer.Body.Close() })
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), word) {
			return
		}
	}
	w.t.Fatalf("no %s on the stream", word)
}

// elicitingClient connects a client whose only capability is elicitation, as that of the clients of
// dialogs.
func elicitingClient(t *testing.T, revision, url string) *mcp.ClientSession {
	t.Helper()
	sdk := mcp.NewClient(&mcp.Implementation{Name: "elicits", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "ann"}}, nil
		},
	})
	session, err := sdk.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: carrier(t, "")},
	}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// When all instances of a server wait for answers of users, calls that ask nothing proceed at once.
// A call that asks its user waits. It is refused with the reason if the other users may still
// answer. It takes the place of a call whose client is gone or has been silent. The log says which
// calls wait for which users, and which questions were given up.
func TestStrangersDialogsAreNotWaitedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		revision string
		leave    bool
		want     string // answer to a call that asks its user
		logged   string
	}{
		"live":   {legacy, false, "waits for the answers of 4 other users", "calls_wait"},
		"gone":   {legacy, true, "accept ann", "question_given_up"},
		"silent": {modern, false, "accept ann", "question_given_up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the test mostly waits
			host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
				"limits: {question_wait: 6s}\ntenants: {default: {servers: {past: %s}}}\n",
				selfConfig(t, serveOld, "past"))})
			url := host.MCP + "/past/mcp"
			away := openDialogs(t, tt.revision, url)
			c := elicitingClient(t, tt.revision, url)
			start := time.Now()
			call := func(tool string) string {
				r, err := c.CallTool(t.Context(), &mcp.CallToolParams{
					Name: tool, Arguments: map[string]any{"text": "hi"},
				})
				if err != nil {
					return err.Error()
				}
				return r.Content[0].(*mcp.TextContent).Text
			}
			if got := call("echo"); got != "hi" || time.Since(start) > 2*time.Second {
				t.Errorf("after %v: %q", time.Since(start), got)
			}
			if tt.leave {
				away()
			}
			if got := call("elicit"); !strings.Contains(got, tt.want) {
				t.Errorf("after %v: %q", time.Since(start), got)
			}
			if took := time.Since(start); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			if !strings.Contains(host.Log(), `"`+tt.logged+`"`) {
				t.Error("the log does not tell")
			}
		})
	}
}
