package chaos

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// S4-104, F01: the connection to a server. The actor is restarted in place and starts its program anew. What was in the program's hands
// is lost, with an error that says it may have been executed; what waits is sent to the next program, and what clients had subscribed to
// they hear from it.
func TestChaosUpstreamConnectionCrash(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	a.warm()
	atRest := a.rest()
	updated := make(chan string, 1)
	session, end := a.client(acme, &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
	})
	if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://watched"}); err != nil {
		t.Fatal(err)
	}
	hit, bystander := a.load(acme, "files__echo"), a.load(globex, "files__echo")
	hit.flows(acme, 20)
	bystander.flows(globex, 20)
	before := a.rows()
	row := before.connection(acme, "files")

	a.panics(row.GetPath(), "client.inbound", 1)
	a.struck()
	hit.flows(acme, 50)
	bystander.flows(globex, 20)

	if c := hit.end().Counts; c.Failed == 0 || c.Failed > loadWorkers || c.Lost != 0 || c.Crosstalk != 0 || c.Duplicate != 0 {
		t.Errorf("acme: %+v, want the calls that the program had in hand failed, at most %d", c, loadWorkers)
	}
	a.clean(globex, bystander.end())
	a.must(session, "files__touch", nil)
	select {
	case <-updated:
	case <-time.After(patience):
		t.Error("the next program does not know of the subscription")
	}
	after := a.rows()
	if got := after.restarted(before); len(got) != 1 || got[row.GetPath()] != 1 {
		t.Errorf("restarted: %v, want %s once and nothing else", got, row.GetPath())
	}
	if n := after.connection(acme, "files"); n.GetIncarnation() != 2 || n.GetPid() == row.GetPid() || n.GetState() != "ready" {
		t.Errorf("row: %v", n)
	}
	end()
	a.settles(atRest)
}

// A request that crashes the connection fails at once, though nobody has written it.
func TestCallThatCrashesItsConnectionFailsAtOnce(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	session, _ := a.client(acme, nil)
	a.must(session, "files__echo", map[string]any{"message": "x"})
	a.panics(a.rows().connection(acme, "files").GetPath(), "*request.Forward", 1)
	start := time.Now()
	_, err := a.call(session, "files__echo", map[string]any{"message": "x"})
	if took := time.Since(start); err == nil || took > patience/2 {
		t.Errorf("got %v after %v, want an error at once", err, took)
	}
	a.must(session, "files__echo", map[string]any{"message": "x"})
}

// The built-in server: an actor in the same process, which its connection starts anew as it would a program.
func TestChaosBuiltinServerCrash(t *testing.T) {
	t.Parallel()
	a := open(t, "near: {builtin: demo}")
	session, _ := a.client(acme, nil)
	a.must(session, "near__echo", map[string]any{"message": "x"})
	hit, bystander := a.load(acme, "near__echo"), a.load(acme, "files__echo")
	hit.flows(acme, 40)
	before := a.rows()
	a.panics("mcpd/tenants/acme/client_sup/near/instance-*", "", 1)
	a.struck()
	hit.flows(acme, 100)
	if c := hit.end().Counts; c.Failed > loadWorkers+1 || c.Lost != 0 || c.Crosstalk != 0 || c.Duplicate != 0 {
		t.Errorf("near: %+v, want the calls that it had in hand failed, at most %d", c, loadWorkers+1)
	}
	a.clean("files of the same tenant", bystander.end())
	if got := a.must(session, "near__echo", map[string]any{"message": "still here"}); got != "still here" {
		t.Errorf("got %q", got)
	}
	restarted := a.rows().restarted(before)
	for path, times := range restarted {
		if !strings.HasPrefix(path, "mcpd/tenants/acme/client_sup/near/") || times != 1 {
			t.Errorf("restarted: %s, %d times", path, times)
		}
	}
	if len(restarted) != 1 {
		t.Errorf("restarted: %v, want the one connection whose server crashed", restarted)
	}
}
