package endings

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// The eras, by the revision that a client asks for. Empty is the newest that the SDK knows.
const (
	legacy = "2025-11-25"
	modern = ""
)

// kind is how clients of one kind reach the host.
type kind struct {
	name, revision string
	transport      func(t *testing.T, url string) mcp.Transport
}

var kinds = []kind{
	{"Streamable HTTP, 2025-11-25", legacy, overHTTP},
	{"Streamable HTTP, 2026-07-28", modern, overHTTP},
	{"HTTP+SSE", legacy, overSSE},
	{"`mcpd stdio`, 2025-11-25", legacy, overStdio},
	{"`mcpd stdio`, 2026-07-28", modern, overStdio},
}

// carrier has connections of its own, as each program has.
func carrier(t *testing.T) *http.Client {
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	return &http.Client{Transport: connections}
}

func overHTTP(t *testing.T, url string) mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: carrier(t), MaxRetries: 20}
}

func overSSE(t *testing.T, url string) mcp.Transport {
	return &mcp.SSEClientTransport{Endpoint: url + "/sse", HTTPClient: carrier(t)}
}

func overStdio(t *testing.T, url string) mcp.Transport {
	command := exec.Command(mcptest.Mcpd(t), "stdio", "--url", url)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(),
		"HOME="+command.Dir, "XDG_CONFIG_HOME="+command.Dir, "XDG_STATE_HOME="+command.Dir, "MCPD_CONFIG=", "MCPD_URL=", "MCPD_KEY=")
	return &mcp.CommandTransport{Command: command}
}

// call is one call of a client.
type call struct {
	begun, ended time.Time
	err          error
}

// client calls one tool after the other in one session until it is told to stop.
type client struct {
	name    string
	session *mcp.ClientSession
	stop    chan struct{}
	done    chan struct{}

	mu    sync.Mutex // guards calls
	calls []call
}

const (
	// callTime bounds a call, above the bounds of every event.
	callTime = 30 * time.Second
	// between is the pause of a client between two calls.
	between = 20 * time.Millisecond
	// work is how long every other call takes, so that some are in flight at any time.
	work = 100 * time.Millisecond
)

// start opens a session and begins to call.
func start(t *testing.T, k kind, url string, i int) *client {
	t.Helper()
	c := &client{name: fmt.Sprintf("%s %d", k.name, i), stop: make(chan struct{}), done: make(chan struct{})}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "endings", Version: "1"}, nil).
		Connect(context.WithoutCancel(t.Context()), k.transport(t, url), &mcp.ClientSessionOptions{ProtocolVersion: k.revision})
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	c.session = s
	go c.run() // ends with end
	return c
}

func (c *client) run() {
	defer close(c.done)
	for n := 0; ; n++ {
		select {
		case <-c.stop:
			return
		case <-time.After(between):
		}
		done := call{begun: time.Now()}
		done.err = c.one(n)
		done.ended = time.Now()
		c.mu.Lock()
		c.calls = append(c.calls, done)
		c.mu.Unlock()
	}
}

// one makes a call and checks that its answer is its own.
func (c *client) one(n int) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	tool, arguments, want := "echo", map[string]any{"message": fmt.Sprintf("%s, %d", c.name, n)}, fmt.Sprintf("%s, %d", c.name, n)
	if n%2 == 1 {
		tool, arguments, want = "sleep", map[string]any{"millis": work.Milliseconds()}, "slept"
	}
	r, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: "s__" + tool, Arguments: arguments})
	if err != nil {
		return err
	}
	if got := r.Content[0].(*mcp.TextContent).Text; r.IsError || !strings.HasPrefix(got, want) {
		return fmt.Errorf("answer %q, want %q", got, want)
	}
	return nil
}

// since reports whether a call was answered that began after a moment.
func (c *client) since(at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.calls) - 1; i >= 0 && c.calls[i].begun.After(at); i-- {
		if c.calls[i].err == nil {
			return true
		}
	}
	return false
}

// end stops calling and returns what there was.
func (c *client) end() []call {
	close(c.stop)
	<-c.done
	ended := make(chan struct{})
	go func() { // ends with the session, which has bounds of its own
		defer close(ended)
		_ = c.session.Close()
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
	}
	return c.calls
}
