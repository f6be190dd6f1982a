//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's clients do

package interop

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// patience limits every wait for an event that a test expects.
const patience = 20 * time.Second

// client is the official Go client. It answers every request of a server, and records the
// notifications that it receives.
type client struct {
	*mcp.ClientSession
	t           *testing.T
	user        string        // name of the user who answers questions
	answerDelay time.Duration // time that the user takes
	// gets each question, for the test to answer; nil for a client that answers by itself
	questions     chan userQuestion
	notifications chan string
	confirmations chan struct{} // gets one value for each confirmed subscription
}

// The two eras, by one revision of each.
const legacy, modern = "2025-11-25", "2026-07-28"

// modern reports whether the session is stateless.
func (c *client) modern() bool { return c.InitializeResult().ProtocolVersion == modern }

// connect opens a session over any transport of the SDK, in the newest revision that both sides
// support. The session ends with the test.
func connect(t *testing.T, over mcp.Transport) *client {
	t.Helper()
	return connectIn(t, "", over)
}

// connectIn is connect for a client that supports no revision later than the given one.
func connectIn(t *testing.T, revision string, over mcp.Transport) *client {
	t.Helper()
	c := &client{
		t: t, user: "ann", notifications: make(chan string, 1000),
		confirmations: make(chan struct{}, 100),
	}
	sdk := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context,
			r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			said := "you said " + r.Params.Messages[0].Content.(*mcp.TextContent).Text
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m",
				Content: &mcp.TextContent{Text: c.userAnswer(said)}}, nil
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			time.Sleep(c.answerDelay)
			return &mcp.ElicitResult{Action: "accept",
				Content: map[string]any{"name": c.userAnswer(c.user + " for " + r.Params.Message)}}, nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			c.record("tools")
		},
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) {
			c.record("resources")
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			c.record("updated", r.Params.URI)
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			c.record(r.Params.Level, r.Params.Data)
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			c.record("progress", r.Params.ProgressToken, r.Params.Progress, "of", r.Params.Total,
				r.Params.Message)
		},
	})
	sdk.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "notifications/subscriptions/acknowledged" {
				c.confirmations <- struct{}{}
			}
			return next(ctx, method, r)
		}
	})
	sdk.AddRoots(&mcp.Root{URI: "file:///here"}, &mcp.Root{URI: "file:///there"})
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	session, err := sdk.Connect(ctx, over, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the test may have ended the other side
	c.ClientSession = session
	if got := session.InitializeResult().ProtocolVersion; revision != "" && got != revision {
		t.Fatalf("agreed on %s, want %s", got, revision)
	}
	return c
}

// userQuestion is a question for the user. It takes one answer.
type userQuestion chan string

// userAnswer returns the user's answer: the usual one, or the answer of the test.
func (c *client) userAnswer(usual string) string {
	if c.questions == nil {
		return usual
	}
	d := make(userQuestion, 1)
	c.questions <- d
	return <-d
}

// awaitConfirmation waits until one more subscription is confirmed.
func (c *client) awaitConfirmation() {
	c.t.Helper()
	select {
	case <-c.confirmations:
	case <-time.After(patience):
		c.t.Fatalf("no subscription was confirmed within %v", patience)
	}
}

// dial opens a session with an endpoint of a host.
func dial(t *testing.T, url, key string) *client {
	t.Helper()
	return dialIn(t, "", url, key)
}

func dialIn(t *testing.T, revision, url, key string) *client {
	t.Helper()
	return connectIn(t, revision, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: carrier(t, key)},
	})
}

// run opens a session with a child process.
func run(t *testing.T, revision string, command *exec.Cmd) *client {
	t.Helper()
	return connectIn(t, revision, &mcp.CommandTransport{Command: command})
}

// carrier sends requests with a key, on connections that end with the test.
func carrier(t *testing.T, key string) http.RoundTripper {
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if key != "" {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+key)
		}
		return connections.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (c *client) record(words ...any) {
	c.notifications <- strings.TrimSpace(fmt.Sprintln(words...))
}

// await waits for the notification want, and returns the notifications that came before it.
func (c *client) await(want string) (before []string) {
	c.t.Helper()
	late := time.After(patience)
	for {
		select {
		case got := <-c.notifications:
			if got == want {
				return before
			}
			before = append(before, got)
		case <-late:
			c.t.Fatalf("did not hear %q within %v, but %q", want, patience, before)
		}
	}
}

// call calls a tool and returns the first text of its result. The text of a failed tool has the
// prefix "error: ".
func (c *client) call(tool string, args map[string]any) string {
	c.t.Helper()
	params := &mcp.CallToolParams{Name: tool}
	if args != nil { // a nil map in an interface would not be nil
		params.Arguments = args
	}
	r, err := c.CallTool(c.t.Context(), params)
	if err != nil {
		c.t.Fatalf("%s: %v", tool, err)
	}
	if r.IsError {
		return "error: " + mcptest.Text(c.t, r)
	}
	return mcptest.Text(c.t, r)
}

// names returns the names in the tool list.
func (c *client) names() []string {
	c.t.Helper()
	var names []string
	for tool, err := range c.Tools(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

// serveWithSessions serves a fixture over Streamable HTTP with sessions, in the legacy era, and
// returns its URL.
func serveWithSessions(t *testing.T, f *fixture) string {
	t.Helper()
	return listen(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return f.Server
	}, nil))
}

// serveStateless serves a fixture over Streamable HTTP without sessions, in the modern era, and
// returns its URL.
func serveStateless(t *testing.T, f *fixture) string {
	t.Helper()
	return listen(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return f.Server
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true,
	}))
}

// listen starts an HTTP server that runs until the end of the test. It outlives the host, which
// keeps streams open to it.
func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}
