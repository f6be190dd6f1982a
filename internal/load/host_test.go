package load_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"mcpd/gateway/config"
	"mcpd/internal/clock"
	"mcpd/internal/load"
	"mcpd/supervisor"
)

// Every reply of thousands of calls arrives, each once and at its own call. One tenant's server is
// built in; a second tenant reaches the first one over HTTP. The test detects losses of one in a
// thousand calls anywhere on the way.
func TestEveryReplyOfThousandsArrives(t *testing.T) {
	base := hostOf(
		t,
		`{listen: "127.0.0.1:0", admin: {listen: "127.0.0.1:0"}, tenants: {direct: {servers: {demo: {builtin: demo}}}}}`,
	)
	relay := hostOf(
		t,
		`{listen: "127.0.0.1:0", admin: {listen: "127.0.0.1:0"}, tenants: {relay: {servers: {far: {url: "`+base+`/t/direct/demo/mcp"}}}}}`,
	)
	for name, o := range map[string]load.SessionOptions{
		"a server of the host":  {URL: base + "/t/direct/demo/mcp", Tool: "echo", Argument: "message"},
		"a server behind a URL": {URL: relay + "/t/relay/far/mcp", Tool: "echo", Argument: "message"},
	} {
		t.Run(name, func(t *testing.T) {
			const sessions, calls = 4, 3000
			var clients []load.Client
			for range sessions {
				s, err := load.Connect(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := s.Close(context.Background()); err != nil {
						t.Error(err)
					}
				}()
				clients = append(clients, s)
			}
			r, err := load.Run(t.Context(), clients, load.Options{
				Clock: clock.System, Run: 1, Workers: 2 * sessions, Calls: calls, For: time.Minute,
				Timeout: 10 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Clean() || r.Counts.OK != calls {
				t.Errorf("of %d calls: %+v, errors %v", calls, r.Counts, r.Errors)
			}
		})
	}
}

// hostOf starts a host with a configuration, and returns its URL.
func hostOf(t *testing.T, text string) string {
	t.Helper()
	c, err := config.Load([]byte(text), config.Options{Builtins: supervisor.Builtins})
	if err != nil {
		t.Fatal(err)
	}
	h, err := supervisor.Start(t.Context(), c, supervisor.Options{
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }() // owner: this test, whose cleanup waits for it
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	address, _ := h.Addrs()
	return "http://" + address
}
