package server_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/session"
	"mcpd/gateway/tenant"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// reload changes the tenant's servers as the host does: it tells the catalogue first, then the
// sessions.
func (r *rig) reload(change func(servers []tenant.Server) []tenant.Server) {
	r.T.Helper()
	r.WaitIdle()
	before := r.tenant
	r.tenant.Servers = change(slices.Clone(r.tenant.Servers))
	r.tenant.Removed = r.tenant.RemovedSince(&before)
	if _, err := testrig.Ask[catalog.ReloadRequest, struct{}](r.Rig, "catalog",
		catalog.ReloadRequest{}); err != nil {
		r.T.Fatal(err)
	}
	told := session.ReloadRequest{Changed: map[string]bool{"acme": true}}
	if _, err := testrig.Ask[session.ReloadRequest, struct{}](r.Rig, "sessions", told); err != nil {
		r.T.Fatal(err)
	}
	r.WaitIdle()
}

func rewrite(servers []tenant.Server) []tenant.Server {
	servers[0].Args = append(slices.Clone(servers[0].Args), tenant.NewSecret("more"))
	return servers
}

// finish answers the calls that a silent server left unanswered.
func (p *peer) finish() {
	for _, m := range p.heard("tools/call") {
		p.send(transport.Inbound{
			Message: jsonrpc.Response(m.ID, jsontext.Value(`{"content":[]}`)), RequestID: m.ID,
		})
	}
}

func (p *peer) closed() bool {
	return p.end.Send(context.Background(),
		transport.Inbound{Message: jsonrpc.Notification("notifications/nothing", nil)}) != nil
}

// If the declaration of a server changes, later calls go to its new connection. Calls in flight end
// on the old one, which ends after them. The client's subscriptions are requested on the new one.
func TestCallsMoveToTheNewConnection(t *testing.T) {
	run(t, silent, func(r *rig) {
		u, other := r.ready(`{}`), r.ready(`{}`)
		if out := u.ask("resources/subscribe", `{"uri":"test://x"}`); out.Word() != "result" {
			t.Fatal(out.All())
		}
		u.ask("logging/setLevel", `{"level":"warning"}`)
		before := u.call()
		beside := other.call()
		old := r.peer("files")
		r.reload(rewrite)
		now := r.latest("files")
		after := u.call()
		if got := len(now.heard("tools/call")); got != 1 || len(old.heard("tools/call")) != 2 {
			t.Errorf("the new connection has %d calls, the old %d", got, len(old.heard("tools/call")))
		}
		if len(now.heard("resources/subscribe")) != 1 || len(now.heard("logging/setLevel")) != 1 {
			t.Errorf("the new one was asked %v", now.heard(""))
		}
		if len(before.All())+len(beside.All()) != 0 {
			t.Errorf("ended by the reload: %v, %v", before.All(), beside.All())
		}
		time.Sleep(time.Second)
		r.WaitIdle()
		if old.closed() {
			t.Error("the old connection ended before its calls")
		}
		now.finish()
		old.finish()
		r.WaitIdle()
		for _, out := range []*testrig.Sink{before, beside, after} {
			if out.Word() != "result" {
				t.Errorf("call: %v", out.All())
			}
		}
		time.Sleep(3 * client.RetirePause)
		r.WaitIdle()
		if !old.closed() || now.closed() {
			t.Errorf("ended: the old connection %v, the new %v", old.closed(), now.closed())
		}
		now.Notify("notifications/resources/updated", `{"uri":"test://x"}`)
		if got := u.heard("notifications/resources/updated"); len(got) != 1 {
			t.Errorf("over the new connection it heard %v", got)
		}
		if got := len(u.heard("notifications/tools/list_changed")); got != 0 {
			t.Errorf("told %d times of lists that are the same", got)
		}
	})
}

// The order of the servers decides which of two owns a URI, so a change of the order changes lists.
func TestServersThatChangePlacesAreTold(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		u.ask("tools/list", `{}`)
		r.reload(func(servers []tenant.Server) []tenant.Server {
			slices.Reverse(servers)
			return servers
		})
		if got := len(u.heard("notifications/resources/list_changed")); got != 1 {
			t.Errorf("told %d times", got)
		}
	})
}

// Added and removed servers are announced once, whatever their number, and their tools appear and
// disappear.
func TestServersThatComeAndGoAreToldOnce(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		u.ask("tools/list", `{}`)
		modern := r.caller(`{}`)
		listen := modern.ask("subscriptions/listen", everything)
		files := r.tenant.Servers[0]
		r.reload(func(servers []tenant.Server) []tenant.Server { return servers[1:] })
		if got := len(u.heard("notifications/tools/list_changed")); got != 1 {
			t.Errorf("told %d times that a server is gone", got)
		}
		if got := news(t, listen, "1"); len(got) != 4 || got[1] != updated ||
			got[2] != "notifications/tools/list_changed" {
			t.Errorf("a subscription heard %v", got)
		}
		if out := u.call(); out.Word() == "result" {
			t.Error("its tool is there")
		}
		files.Name = "again"
		r.script["again"], r.peers["again"] = r.script["files"], make(chan *peer, 10)
		r.reload(func(servers []tenant.Server) []tenant.Server { return append(servers, files) })
		if got := len(u.heard("notifications/tools/list_changed")); got != 2 {
			t.Errorf("told %d times, want once more", got)
		}
		if out := u.ask("tools/call", `{"name":"again__read"}`); out.Word() != "result" {
			t.Errorf("the new tool: %v", out.All())
		}
		// a client without a subscription gets nothing
		r.latest("again").Notify("notifications/resources/updated", `{"uri":"test://x"}`)
		if got := len(u.heard("")); got != 2+len(u.heard("notifications/prompts/list_changed"))+
			len(u.heard("notifications/resources/list_changed")) {
			t.Errorf("heard %v", u.heard(""))
		}
	})
}

// A crash of the session's actor between the reload and the end of its calls does not keep an old
// connection open.
func TestCrashedSessionKeepsNoOldConnection(t *testing.T) {
	run(t, silent, func(r *rig) {
		u := r.ready(`{}`)
		out := u.call()
		old := r.peer("files")
		r.reload(rewrite)
		r.Break("server_sup/"+u.h.Row(), "")
		u.tell("notifications/roots/list_changed", "")
		r.Struck()
		old.finish()
		r.WaitIdle()
		if out.Word() != "result" {
			t.Errorf("call: %v", out.All())
		}
		time.Sleep(2 * client.Reattach)
		r.WaitIdle()
		if !old.closed() {
			t.Error("the old connection is kept")
		}
	})
}
