package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// brokenServers are servers that cannot work, each for the reason that its name gives.
const brokenServers = `exits: {command: /bin/sh, args: ["-c", "echo no licence found >&2; exit 3"]}
missing: {command: /nonexistent/server}
silent: {command: %q, args: ["-silent"], start_timeout: 30s}`

// F17, F02, F11: servers that end at once, do not exist, or never answer. Each shows its state and
// cause in the tree, its own endpoint fails at once with the cause, and the tenant's other server
// works normally.
func TestServersThatCannotWorkConcernNobodyElse(t *testing.T) {
	t.Parallel()
	a := open(t, fmt.Sprintf(brokenServers, mcptest.Server(t)))
	start := time.Now()
	session, _ := a.client(acme, nil)
	if got := a.must(session, "files__echo", map[string]any{"message": "x"}); got != "x" {
		t.Errorf("got %q", got)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("the working server answered after %v", took)
	}
	hit := a.load(acme, "files__echo")

	for _, tt := range []struct{ server, state, cause string }{
		{"exits", "crash_loop", "no licence found"},
		{"missing", "quarantined", "/nonexistent/server"},
	} {
		path := "mcpd/tenants/acme/client_sup/" + tt.server
		a.eventually(tt.server+" "+tt.state, func() bool { return a.rows()[path].GetState() == tt.state })
		if n := a.rows()[path]; !strings.Contains(n.GetCause()+n.GetStderr(), tt.cause) {
			t.Errorf("%s: cause %q, stderr %q, want %q in it", tt.server, n.GetCause(),
				n.GetStderr(), tt.cause)
		}
		start := time.Now()
		refused(t, a.connect(acme, tt.server), tt.cause)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: the error came after %v", tt.server, took)
		}
		a.given(tt.server, tt.state)
	}
	r := hit.end()
	a.clean("files", r)
	if got := a.rows().connection(acme, "silent").GetState(); got != "starting" {
		t.Errorf("silent: %s, want starting", got)
	}
	for path := range a.rows().restarted(rows{}) {
		if !strings.HasPrefix(path, "mcpd/tenants/acme/client_sup/") {
			t.Errorf("restarted: %s", path)
		}
	}
}

// F10, F11: a server that worked and then cannot start any more. Its calls fail at once with the
// cause. When it can start again, it is back by itself after its pause.
func TestServerThatCannotRestartIsTriedAgain(t *testing.T) {
	t.Parallel()
	flag := filepath.Join(t.TempDir(), "broken")
	a := open(t, breakable(t, flag)+"\nnear: {builtin: demo}")
	session, _ := a.client(acme, nil)
	a.must(session, "files__echo", map[string]any{"message": "x"})
	near := a.load(acme, "near__echo")

	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kill(t, a.rows().connection(acme, "files").GetPid())
	const row = "mcpd/tenants/acme/client_sup/files"
	a.eventually("in a crash loop", func() bool { return a.rows()[row].GetState() == "crash_loop" })
	start := time.Now()
	_, err := a.call(session, "files__echo", map[string]any{"message": "x"})
	refused(t, err, "the disk is full")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the error came after %v", took)
	}

	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	a.eventually("back", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := session.CallTool(ctx, &mcp.CallToolParams{
			Name: "files__echo", Arguments: map[string]any{"message": "x"},
		})
		return err == nil
	})
	a.clean("the tenant's other server", near.end())
	if got := a.rows()[row].GetState(); got != "ready" {
		t.Errorf("state %s, want ready", got)
	}
}

// breakable is the configuration of the server "files", which cannot be started while the file flag
// exists.
func breakable(t *testing.T, flag string) string {
	t.Helper()
	script := fmt.Sprintf(`test -e %s && { echo the disk is full >&2; exit 4; }; exec %s`, flag,
		mcptest.Server(t))
	return fmt.Sprintf("files: {command: /bin/sh, args: [\"-c\", %q]}", script)
}

// refused checks that an error of a server that cannot be started names the cause.
func refused(t *testing.T, err error, cause string) {
	t.Helper()
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != -32008 || !strings.Contains(e.Message+string(e.Data), cause) {
		t.Errorf("got %v, want -32008 that says %q", err, cause)
	}
}

// given checks that the log has an event about a server that was given up for a while, with the
// time of the next attempt.
func (a *arena) given(server, state string) {
	a.t.Helper()
	for line := range strings.Lines(a.Log()) {
		if strings.Contains(line, `"event":"upstream_`+state+`"`) &&
			strings.Contains(line, `"server":"`+server+`"`) && strings.Contains(line, `"retry":`) {
			return
		}
	}
	a.t.Errorf("the log does not tell that %s is in %s", server, state)
}
