//lint:file-ignore SA1019 what 2026-07-28 deprecates is what today's servers do to a host

package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// view is one server as a client sees it, at its own endpoint or in the aggregate.
type view struct {
	*client
	server       string // its name, which is also the name of its fixture
	prefix       string // of the names of tools and prompts
	legacyServer bool   // the server supports only the legacy era
}

func (v view) tool(name string) string { return v.prefix + name }

func (v view) uri(path string) string { return "fixture://" + v.server + "/" + path }

// markers numbers the added tools, because a tool with an existing name causes no notification.
var markers atomic.Int32

// features are the features of a server that a client can use. The test uses each of them with all
// transports of servers, and at both kinds of endpoint.
var features = []struct {
	name string
	do   func(t *testing.T, v view)
}{
	{"tools are listed", func(t *testing.T, v view) {
		for _, tool := range []string{"echo", "steps"} {
			if names := v.names(); !slices.Contains(names, v.tool(tool)) {
				t.Errorf("no %s in %q", v.tool(tool), names)
			}
		}
	}},
	{"tools are called", func(t *testing.T, v view) {
		for _, text := range []string{"plain", "grüße, 世界, \U0001F9E9, \u2028, \x7f",
			`quotes " and \ and </script>`, ""} {
			if got := v.call(v.tool("echo"), map[string]any{"text": text}); got != text {
				t.Errorf("echo = %q, want %q", got, text)
			}
		}
	}},
	{"results are large", func(t *testing.T, v view) {
		const count = 1 << 20
		if got := v.call(v.tool("big"),
			map[string]any{"count": count}); got != strings.Repeat("é", count) {
			t.Errorf("got %d bytes, want %d", len(got), 2*count)
		}
	}},
	{"a tool that fails says so in its result or as an error", func(t *testing.T, v view) {
		r, err := v.CallTool(t.Context(), &mcp.CallToolParams{
			Name: v.tool("fail"), Arguments: map[string]any{"text": "it"},
		})
		if said := fmt.Sprint(r, err); !strings.Contains(said, "it failed") &&
			(r == nil || !strings.Contains(mcptest.Text(t, r), "it failed")) {
			t.Errorf("got %v", said)
		}
	}},
	{"unknown tools are invalid params", func(t *testing.T, v view) {
		_, err := v.CallTool(t.Context(), &mcp.CallToolParams{Name: v.tool("nothing_like_it")})
		if code := codeOf(err); code != -32602 {
			t.Errorf("code = %d (%v), want -32602", code, err)
		}
	}},
	{"progress arrives before the result", func(t *testing.T, v view) {
		params := &mcp.CallToolParams{
			Name: v.tool("steps"), Arguments: map[string]any{"count": 3, "text": "half way"},
		}
		params.SetProgressToken("mine")
		if _, err := v.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			v.await(fmt.Sprintf("progress mine %d of 3 half way", i+1))
		}
	}},
	{"logs arrive from the level that was set", func(t *testing.T, v view) {
		if v.modern() {
			return // each call sets its own level: see the next feature
		}
		if err := v.SetLoggingLevel(t.Context(),
			&mcp.SetLoggingLevelParams{Level: "warning"}); err != nil {
			t.Fatal(err)
		}
		v.call(v.tool("log"), map[string]any{"text": "too quiet", "level": "info"})
		v.call(v.tool("log"), map[string]any{"text": "loud", "level": "error"})
		// lists may have changed meanwhile
		if before := v.await("error loud"); slices.Contains(before, "info too quiet") {
			t.Errorf("heard %q", before)
		}
		if v.legacyServer { // the modern era has no log messages outside a call
			v.call(v.tool("log_later"), map[string]any{"text": "belongs to no call"})
			v.await("warning belongs to no call")
		}
	}},
	{"logs arrive from the level that the call sets", func(t *testing.T, v view) {
		if !v.modern() {
			return
		}
		log := func(level, text, at string) {
			t.Helper()
			params := toolCall(v.tool("log"), text)
			params.Arguments = map[string]any{"text": text, "level": level}
			if at != "" {
				params.Meta = mcp.Meta{mcp.MetaKeyLogLevel: at}
			}
			if _, err := v.CallTool(t.Context(), params); err != nil {
				t.Fatal(err)
			}
		}
		log("error", "nobody asked", "")
		log("info", "too quiet", "warning")
		log("error", "loud", "warning")
		if before := v.await("error loud"); slices.Contains(before, "info too quiet") ||
			slices.Contains(before, "error nobody asked") {
			t.Errorf("heard %q", before)
		}
	}},
	{"cancelling reaches the server", func(t *testing.T, v view) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			params := &mcp.CallToolParams{
				Name: v.tool("wait"), Arguments: map[string]any{"text": "enough of " + t.Name()},
			}
			params.SetProgressToken("w")
			_, err := v.CallTool(ctx, params)
			ended <- err
		}()
		v.await("progress w 1 of 0")
		cancel()
		if err := <-ended; err == nil {
			t.Error("the cancelled call succeeded")
		}
		if got := v.call(v.tool("await_cancel"), nil); got != "enough of "+t.Name() {
			t.Errorf("cancelled was %q", got)
		}
	}},
	{"the server asks the client's model", func(t *testing.T, v view) {
		if got := v.call(v.tool("sample"), map[string]any{"text": "hi"}); got != "you said hi" {
			t.Errorf("got %q", got)
		}
	}},
	{"the server asks the user", func(t *testing.T, v view) {
		if got := v.call(v.tool("elicit"),
			map[string]any{"text": "a name"}); got != "accept ann for a name" {
			t.Errorf("got %q", got)
		}
	}},
	{"the server asks for roots", func(t *testing.T, v view) {
		if got := v.call(v.tool("roots"), nil); got != "file:///here file:///there" {
			t.Errorf("got %q", got)
		}
	}},
	{"resources are listed and read", func(t *testing.T, v view) {
		list, err := v.ListResources(t.Context(), nil)
		if err != nil || !slices.ContainsFunc(list.Resources, func(r *mcp.Resource) bool {
			return r.URI == v.uri("watched")
		}) {
			t.Errorf("resources = %+v, %v", list, err)
		}
		templates, err := v.ListResourceTemplates(t.Context(), nil)
		if err != nil || !slices.ContainsFunc(templates.ResourceTemplates,
			func(r *mcp.ResourceTemplate) bool {
				return r.URITemplate == v.uri("item/{id}")
			}) {
			t.Errorf("templates = %+v, %v", templates, err)
		}
		for _, uri := range []string{v.uri("watched"), v.uri("item/7")} {
			r, err := v.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil || r.Contents[0].Text != v.server+" has "+uri || r.Contents[0].URI != uri {
				t.Errorf("%s = %+v, %v", uri, r, err)
			}
		}
	}},
	{"updates of a resource arrive while subscribed", func(t *testing.T, v view) {
		uri := v.uri("watched")
		if err := v.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
		if v.modern() { // the SDK does not wait
			v.awaitConfirmation()
		}
		v.call(v.tool("touch"), map[string]any{"text": uri})
		v.await("updated " + uri)
		if err := v.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
		for try := 0; ; try++ {
			v.call(v.tool("touch"), map[string]any{"text": uri})
			// The notification of the new tool comes after an update of the resource, which must not come.
			v.call(v.tool("add_tool"), map[string]any{"text": fmt.Sprint("marker", markers.Add(1))})
			if heard := v.await("tools"); !slices.Contains(heard, "updated "+uri) {
				break
			}
			if !v.modern() || try > 20 { // in the modern era nothing confirms the unsubscription
				t.Fatal("heard of an update after unsubscribing")
			}
			time.Sleep(50 * time.Millisecond)
		}
	}},
	{"prompts are listed and filled in", func(t *testing.T, v view) {
		list, err := v.ListPrompts(t.Context(), nil)
		if err != nil || !slices.ContainsFunc(list.Prompts, func(p *mcp.Prompt) bool {
			return p.Name == v.tool("greet")
		}) {
			t.Errorf("prompts = %+v, %v", list, err)
		}
		r, err := v.GetPrompt(t.Context(), &mcp.GetPromptParams{
			Name: v.tool("greet"), Arguments: map[string]string{"who": "Bo"},
		})
		if err != nil || r.Messages[0].Content.(*mcp.TextContent).Text != "Greet Bo from "+v.server {
			t.Errorf("greet = %+v, %v", r, err)
		}
	}},
	{"arguments are completed", func(t *testing.T, v view) {
		tests := []struct {
			ref  *mcp.CompleteReference
			want string
		}{
			{&mcp.CompleteReference{Type: "ref/prompt", Name: v.tool("greet")}, "greet who=B"},
			{&mcp.CompleteReference{Type: "ref/resource", URI: v.uri("item/{id}")},
				v.uri("item/{id}") + " who=B"},
		}
		for _, test := range tests {
			r, err := v.Complete(t.Context(), &mcp.CompleteParams{
				Ref: test.ref, Argument: mcp.CompleteParamsArgument{Name: "who", Value: "B"},
			})
			if err != nil || len(r.Completion.Values) != 1 || r.Completion.Values[0] != test.want {
				t.Errorf("%s: %+v, %v, want %q", test.ref.Type, r, err, test.want)
			}
		}
	}},
	{"a new tool is announced and listed", func(t *testing.T, v view) {
		name := "extra_" + strings.Map(func(c rune) rune {
			if c < 'a' || c > 'z' {
				return '_'
			}
			return c
		}, v.prefix)
		v.call(v.tool("add_tool"), map[string]any{"text": name})
		for !slices.Contains(v.names(), v.tool(name)) {
			v.await("tools")
		}
		if got := v.call(v.tool(name), nil); got != "I am new" {
			t.Errorf("got %q", got)
		}
	}},
	{"ping is answered where there is one", func(t *testing.T, v view) {
		if err := v.Ping(t.Context(), nil); v.modern() == (err == nil) {
			t.Errorf("got %v", err)
		}
	}},
}

// Everything that the protocol offers works with the official Go SDK on both sides of the host: for
// servers of both eras and both transports, at their own endpoints and in the aggregate, and for
// clients of both eras.
func TestFeaturesWithTheGoSDKOnBothSides(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {servers: {proc: %s, past: %s, web: {url: %q}, free: {url: %q}}}}\n",
		selfConfig(t, serveSDK, "proc"), selfConfig(t, serveOld, "past"),
		serveWithSessions(t, newFixture("web")),
		serveStateless(t, newFixture("free").modernOnly()))})
	for _, server := range []string{"proc", "past", "web", "free"} {
		for _, endpoint := range []struct{ name, path, prefix string }{
			{"aggregate", "/mcp", server + "__"},
			{"transparent", "/" + server + "/mcp", ""},
		} {
			for _, revision := range []string{legacy, modern} {
				t.Run(server+"/"+endpoint.name+"/"+revision, func(t *testing.T) {
					for _, f := range features {
						t.Run(f.name, func(t *testing.T) {
							c := dialIn(t, revision, host.MCP+endpoint.path, "")
							if revision == modern {
								c.awaitConfirmation() // its subscription to list changes
							}
							f.do(t, view{c, server, endpoint.prefix, server == "past" || server == "web"})
						})
					}
				})
			}
		}
	}
}
