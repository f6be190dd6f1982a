package interop

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

const (
	everything = "@modelcontextprotocol/server-everything@2026.8.31"
	filesystem = "@modelcontextprotocol/server-filesystem@2026.8.31"
)

// published starts a host with the published servers: one stdio server in each of two tenants, each
// with its key. The first tenant also has its server over HTTP.
func published(t *testing.T, dir string) *mcptest.Host {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "hello.txt"), []byte("hello from a file"),
		0o600); err != nil {
		t.Fatal(err)
	}
	return mcptest.Start(t, mcptest.HostOptions{Env: []string{"FOLDER=" + folder},
		Config: fmt.Sprintf(`
tenants:
  acme:
    auth: {keys: [%s]}
    servers:
      every: {command: npx, args: [-y, "%s"], cwd: %q}
      remote: {url: %q}
      old: {url: %q}
  zeta:
    auth: {keys: [%s]}
    servers:
      files: {command: npx, args: [-y, "%s", "${env:FOLDER}"], cwd: %q}
`, keyConfig("ann", "key-of-ann"), everything, dir, remote(t, dir, "streamableHttp", "/mcp"),
			remote(t, dir, "sse", "/sse"), keyConfig("zoe", "key-of-zoe"), filesystem, dir)})
}

// remote starts the published server over a kind of HTTP and returns its endpoint. The server
// accepts only a port number, so another program may take the port first. In that case the server
// exits, and remote tries the next number.
func remote(t *testing.T, dir, kind, path string) string {
	t.Helper()
	var said string
	for deadline := time.Now().Add(mcptest.NPMTime); time.Now().Before(deadline); {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := free.Addr().String()
		_, port, _ := net.SplitHostPort(addr)
		free.Close()
		var output bytes.Buffer
		server := exec.Command("npx", "-y", everything, kind)
		server.Dir, server.Env = dir, append(os.Environ(), "PORT="+port)
		server.Stdout, server.Stderr = &output, &output
		group(server)
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = server.Wait(); close(ended) }()
		if listens("http://"+addr+path, ended, deadline) {
			t.Cleanup(func() { killGroup(server, ended) })
			return "http://" + addr + path
		}
		killGroup(server, ended)
		said = output.String()
	}
	t.Fatalf("%s does not listen within %v:\n%s", everything, mcptest.NPMTime, said)
	return ""
}

// listens waits until an endpoint answers. It returns false when the server has exited or the
// deadline has passed.
func listens(url string, ended <-chan struct{}, deadline time.Time) bool {
	for ; time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case <-ended:
			return false
		default:
		}
		if response, err := http.Get(url); err == nil {
			response.Body.Close()
			return true
		}
	}
	return false
}

// The official TypeScript clients of both generations list and call the tools of published servers,
// over stdio and over HTTP, at both kinds of endpoints. The client answers the questions that the
// servers ask during calls. The second generation supports both eras. It detects that it may use
// the newest revision, although the servers support only the legacy era.
func TestTypeScriptClientsWithPublishedServers(t *testing.T) {
	dir := mcptest.Modules(t)
	host := published(t, dir)
	for _, client := range []string{"1", "2"} {
		for _, view := range []struct{ server, path, prefix string }{
			{"every", "/t/acme/mcp", "every__"}, {"every", "/t/acme/every/mcp", ""},
			{"remote", "/t/acme/mcp", "remote__"}, {"remote", "/t/acme/remote/mcp", ""},
		} {
			t.Run("TypeScript "+client+view.path+"/"+view.server, func(t *testing.T) {
				tool := func(name string, args map[string]any) map[string]any {
					return map[string]any{"name": view.prefix + name, "arguments": args}
				}
				s := script(t, client, host.MCP+view.path, "key-of-ann",
					tool("echo", map[string]any{"message": "grüße"}),
					tool("get-sum", map[string]any{"a": 2, "b": 40}),
					tool("trigger-sampling-request", map[string]any{"prompt": "a question", "maxTokens": 5}),
					tool("trigger-elicitation-request", map[string]any{}),
					tool("get-roots-list", map[string]any{}),
					tool("trigger-long-running-operation", map[string]any{"duration": 0.2, "steps": 4}),
					tool("get-structured-content", map[string]any{"location": "Chicago"}),
				)
				for i, want := range []string{"Echo: grüße", "The sum of 2 and 40 is 42.", "sampled: ",
					"provided the requested information", "file:///interop", "Steps: 4.", "{"} {
					if !strings.Contains(s.text(i), want) || s.Results[i].IsError {
						t.Errorf("result %d = %q, want %q", i, s.text(i), want)
					}
				}
				if s.Progress != 4 {
					t.Errorf("%d reports of progress, want 4", s.Progress)
				}
				if want := map[string]string{"1": legacy, "2": modern}[client]; s.Revision != want {
					t.Errorf("agreed on %s, want %s", s.Revision, want)
				}
				if !slices.Contains(s.Tools, view.prefix+"echo") ||
					!slices.Contains(s.Prompts, view.prefix+"simple-prompt") || len(s.Resources) == 0 {
					t.Errorf("tools %q, prompts %q, %d resources", s.Tools, s.Prompts, len(s.Resources))
				}
				if want := map[bool]string{true: "mcp-servers/everything",
					false: "mcpd"}[view.prefix == ""]; s.Server.Name != want {
					t.Errorf("server is %q, want %q", s.Server.Name, want)
				}
			})
		}
		for _, view := range []struct{ path, prefix string }{{"/t/zeta/mcp", "files__"},
			{"/t/zeta/files/mcp", ""}} {
			t.Run("TypeScript "+client+view.path, func(t *testing.T) {
				s := script(t, client, host.MCP+view.path, "key-of-zoe",
					map[string]any{
						"name": view.prefix + "list_allowed_directories", "arguments": map[string]any{},
					})
				if !slices.Contains(s.Tools, view.prefix+"read_text_file") || len(s.Results) != 1 ||
					s.Results[0].IsError {
					t.Errorf("saw %+v", s)
				}
			})
		}
	}
}

// The first generation also uses HTTP+SSE, to the host and from the host to a published server.
func TestTypeScriptClientOverHTTPSSE(t *testing.T) {
	host := published(t, mcptest.Modules(t))
	for _, view := range []struct{ path, prefix string }{{"/t/acme/sse", "every__"},
		{"/t/acme/every/sse", ""}, {"/t/acme/old/sse", ""}} {
		t.Run(view.path, func(t *testing.T) {
			s := script(t, "1", host.MCP+view.path, "key-of-ann",
				map[string]any{"name": view.prefix + "echo", "arguments": map[string]any{"message": "grüße"}},
				map[string]any{
					"name":      view.prefix + "trigger-sampling-request",
					"arguments": map[string]any{"prompt": "a question", "maxTokens": 5},
				},
				map[string]any{
					"name":      view.prefix + "trigger-long-running-operation",
					"arguments": map[string]any{"duration": 1, "steps": 4},
				},
			)
			for i, want := range []string{"Echo: grüße", "sampled: ", "Steps: 4."} {
				if !strings.Contains(s.text(i), want) {
					t.Errorf("result %d = %q, want %q", i, s.text(i), want)
				}
			}
			// The client loses progress messages that it reads together with the answer, more than one of
			// them on a busy machine.
			if s.Progress < 2 || !slices.Contains(s.Tools, view.prefix+"echo") {
				t.Errorf("%d reports of progress, tools %q", s.Progress, s.Tools)
			}
		})
	}
}

// The same servers work with the official Go client. It declares no roots, so the file server uses
// the folder of its command line.
func TestGoClientWithPublishedServers(t *testing.T) {
	host := published(t, mcptest.Modules(t))
	for _, view := range []struct{ path, prefix string }{{"/t/zeta/mcp", "files__"},
		{"/t/zeta/files/mcp", ""}} {
		s := mcptest.Connect(t, host.MCP+view.path, "key-of-zoe", rootless())
		c := &client{ClientSession: s, t: t}
		folder := strings.TrimSpace(c.call(view.prefix+"list_allowed_directories", nil))
		_, folder, _ = strings.Cut(folder, "\n")
		if got := c.call(view.prefix+"read_text_file",
			map[string]any{"path": folder + "/hello.txt"}); got != "hello from a file" {
			t.Errorf("%s: got %q", view.path, got)
		}
		if got := c.call(view.prefix+"read_text_file",
			map[string]any{"path": "/etc/passwd"}); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: got %q", view.path, got)
		}
	}
	for _, view := range []struct{ path, prefix string }{
		{"/t/acme/mcp", "every__"}, {"/t/acme/every/mcp", ""}, {"/t/acme/mcp", "remote__"},
		{"/t/acme/remote/mcp", ""},
	} {
		c := dial(t, host.MCP+view.path, "key-of-ann")
		if got := c.call(view.prefix+"echo", map[string]any{"message": "hi"}); got != "Echo: hi" {
			t.Errorf("%s: got %q", view.path, got)
		}
		if got := c.call(view.prefix+"trigger-elicitation-request", nil); !strings.Contains(got,
			"provided the requested information") {
			t.Errorf("%s: got %q", view.path, got)
		}
	}
}
