//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do to a host

package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// A TypeScript client of the first generation answers questions of a server without a handshake. A
// client of the second generation answers questions that a legacy server asks in the middle of a
// call. Neither of them notices that the other side is of another era.
func TestTypeScriptClientsAnswerServersOfTheOtherEra(t *testing.T) {
	mcptest.Modules(t)
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf("tenants: {default: {servers: "+
		"{past: %s, web: {url: %q}, free: {url: %q}}}}\n",
		selfConfig(t, serveOld, "past"), serveWithSessions(t, newFixture("web")),
		serveStateless(t, newFixture("free").modernOnly()))})
	for _, pair := range []struct{ client, revision, server string }{
		{"1", legacy, "free"}, {"2", modern, "past"}, {"2", modern, "web"},
	} {
		for path, prefix := range map[string]string{"/mcp": pair.server + "__",
			"/" + pair.server + "/mcp": ""} {
			t.Run(pair.client+path+"/"+pair.server, func(t *testing.T) {
				var calls []map[string]any
				for _, tool := range []string{"elicit", "sample", "roots", "echo"} {
					calls = append(calls, map[string]any{
						"name": prefix + tool, "arguments": map[string]any{"text": "a question"},
					})
				}
				s := script(t, pair.client, host.MCP+path, "", calls...)
				for i, want := range []string{"accept ann", "a question", "file:///interop", "a question"} {
					if !strings.Contains(s.text(i), want) || s.Results[i].IsError {
						t.Errorf("result %d = %q, want %q", i, s.text(i), want)
					}
				}
				if s.Revision != pair.revision {
					t.Errorf("agreed on %s, want %s", s.Revision, pair.revision)
				}
			})
		}
	}
}

// withBothEras runs clients of both eras at one endpoint at the same time.
func withBothEras(t *testing.T, url, key string, do func(c *client, n int)) {
	t.Helper()
	var all sync.WaitGroup
	for n := range 4 {
		c := dialIn(t, []string{legacy, modern}[n%2], url, key)
		c.user = fmt.Sprint("user ", n)
		all.Go(func() { do(c, n) })
	}
	all.Wait()
}

// Published servers serve clients of both eras at one endpoint at the same time, and each client
// gets the results that it would get alone.
func TestPublishedServersServeBothErasAtOnce(t *testing.T) {
	host := published(t, mcptest.Modules(t))
	for _, view := range []struct{ server, path, prefix string }{
		{"every", "/t/acme/mcp", "every__"}, {"every", "/t/acme/every/mcp", ""},
		{"remote", "/t/acme/remote/mcp", ""},
	} {
		t.Run(view.path+"/"+view.server, func(t *testing.T) {
			var subscribed sync.WaitGroup
			subscribed.Add(4)
			withBothEras(t, host.MCP+view.path, "key-of-ann", func(c *client, n int) {
				useEverything(c, view.prefix, n, &subscribed, view.server == "remote")
			})
		})
	}
	for path, prefix := range map[string]string{"/t/zeta/mcp": "files__", "/t/zeta/files/mcp": ""} {
		t.Run(path, func(t *testing.T) {
			withBothEras(t, host.MCP+path, "key-of-zoe", func(c *client, _ int) {
				roots := c.callText(prefix+"list_allowed_directories", nil)
				if !strings.Contains(roots, "Allowed directories") {
					t.Errorf("got %q", roots)
				}
				if got := c.callText(prefix+"read_text_file",
					map[string]any{"path": "/etc/passwd"}); !strings.HasPrefix(got, "error: ") {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}

// callText is like call, for a goroutine of a test, which must not end the test.
func (c *client) callText(tool string, args map[string]any) string {
	c.t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	r, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	switch {
	case err != nil:
		return err.Error()
	case len(r.Content) == 0:
		return ""
	}
	text, _ := r.Content[0].(*mcp.TextContent)
	switch {
	case text == nil:
		return fmt.Sprintf("%T", r.Content[0])
	case r.IsError:
		return "error: " + text.Text
	}
	return text.Text
}

// toggleOn calls a tool that toggles something, until the tool has turned it on.
func (c *client) toggleOn(tool string) {
	c.t.Helper()
	for range 2 {
		if got := c.callText(tool, nil); strings.HasPrefix(got, "Started") {
			return
		}
	}
	c.t.Errorf("%s: %s does not start", c.user, tool)
}

// awaitInGoroutine waits for a notification like until, for a goroutine of a test.
func (c *client) awaitInGoroutine(want string) {
	c.t.Helper()
	late := time.After(patience)
	for {
		select {
		case got := <-c.notifications:
			if got == want {
				return
			}
		case <-late:
			c.t.Errorf("%s did not hear %q within %v", c.user, want, patience)
			return
		}
	}
}

// useEverything uses all features of server-everything. Updates of resources begin when all clients
// have subscribed, because each start or stop of updates applies to all clients that share a
// process or, for the remote server, a session.
func useEverything(c *client, prefix string, n int, subscribed *sync.WaitGroup, remote bool) {
	t := c.t
	expect := func(label, got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("%s, %s = %q, want %q", c.user, label, got, want)
		}
	}
	name := fmt.Sprint("nonce ", n)
	expect("echo", c.callText(prefix+"echo", map[string]any{"message": name}), "Echo: "+name)
	expect("sampling", c.callText(prefix+"trigger-sampling-request",
		map[string]any{"prompt": name, "maxTokens": 5}), name)
	expect("elicitation", c.callText(prefix+"trigger-elicitation-request", nil),
		"User provided the requested information")
	expect("roots", c.callText(prefix+"get-roots-list", nil), "file:///here")

	if list, err := c.ListPrompts(t.Context(), nil); err != nil ||
		!slices.ContainsFunc(list.Prompts, func(p *mcp.Prompt) bool {
			return p.Name == prefix+"simple-prompt"
		}) {
		t.Errorf("%s: prompts %v, %v", c.user, list, err)
	}
	completed, err := c.Complete(t.Context(), &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: prefix + "completable-prompt"},
		Argument: mcp.CompleteParamsArgument{Name: "department", Value: "E"},
	})
	if err != nil || !slices.Contains(completed.Completion.Values, "Engineering") {
		t.Errorf("%s: completion %v, %v", c.user, completed, err)
	}

	params := &mcp.CallToolParams{
		Name:      prefix + "trigger-long-running-operation",
		Arguments: map[string]any{"duration": 0.2, "steps": 2},
	}
	params.SetProgressToken(name)
	if _, err := c.CallTool(t.Context(), params); err != nil {
		t.Errorf("%s: %v", c.user, err)
	}
	c.awaitInGoroutine("progress " + name + " 1 of 2")
	c.awaitInGoroutine("progress " + name + " 2 of 2")

	ctx, cancel := context.WithCancel(t.Context())
	params = &mcp.CallToolParams{
		Name:      prefix + "trigger-long-running-operation",
		Arguments: map[string]any{"duration": 60, "steps": 300},
	}
	params.SetProgressToken("long")
	ended := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, params)
		ended <- err
	}()
	c.awaitInGoroutine("progress long 1 of 300")
	cancel()
	if err := <-ended; err == nil {
		t.Errorf("%s: the cancelled call succeeded", c.user)
	}
	expect("echo behind a cancelled call", c.callText(prefix+"echo", map[string]any{"message": name}),
		"Echo: "+name)

	// Messages of the server about a subscription belong to no call, so a modern client does not get
	// them.
	if !c.modern() {
		if err := c.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
			t.Errorf("%s: %v", c.user, err)
		}
	}
	uri := fmt.Sprint("demo://resource/dynamic/text/", n+1)
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Errorf("%s: %v", c.user, err)
	}
	if c.modern() {
		c.awaitConfirmation() // the lists
		c.awaitConfirmation()
	}
	subscribed.Done()
	subscribed.Wait()
	if n < 2 || remote && !c.modern() {
		c.toggleOn(prefix + "toggle-subscriber-updates")
	}
	c.awaitInGoroutine("updated " + uri)

	expect("a new resource", c.callText(prefix+"gzip-file-as-resource", map[string]any{
		"name": fmt.Sprint("file", n, prefix, ".gz"), "data": "data:text/plain,hello",
		"outputType": "resourceLink",
	}), "ResourceLink")
	c.awaitInGoroutine("resources")
}
