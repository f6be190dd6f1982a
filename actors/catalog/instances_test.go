package catalog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
)

// another asks for one more instance of the server "search" for a principal.
func (r *rig) another(principal string) (client.Instance, error) {
	key := tenant.Key{Share: tenant.ByPrincipal, Principal: principal}
	return testrig.Ask[client.StartInstanceRequest, client.Instance](r.Rig, "catalog",
		client.StartInstanceRequest{
			Server: "search", Key: key, Most: 3,
		})
}

// A connection gets more instances of its server up to the bound, and one that has ended makes
// room. Tools that only a further instance lists are listed until that instance ends.
func TestInstancesOfAServer(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		for n, want := range []string{search + ",instance=2", search + ",instance=3"} {
			i, err := r.another("ci")
			if err != nil || i.Ref.Path() != "top/client_sup/"+want+"/connection" ||
				int(i.Key.Instance) != n+1 {
				t.Fatalf("got %s, %+v, %v", i.Ref.Path(), i.Key, err)
			}
		}
		if _, err := r.another("ci"); !errors.Is(err, protocol.ConditionOverloaded) {
			t.Errorf("one above the bound: %v", err)
		}
		if _, err := r.another("nobody"); err == nil {
			t.Error("an instance of a connection that is not there")
		}
		r.dispatcher.Forget()
		r.reports(search+",instance=2", report{
			state: client.Ready, tools: []string{"other", "find"}, told: []merge.Kind{merge.Tools},
		})
		for _, endpoint := range []string{"search", ""} {
			if v := <-r.looks(r.caller("ci", endpoint)); v.err != nil ||
				!strings.Contains(listed(v, merge.Tools), "other") ||
				strings.Count(listed(v, merge.Tools), "find") != 1 {
				t.Errorf("view: %s, %v", listed(v, merge.Tools), v.err)
			}
		}
		time.Sleep(merge.ChangesQuiet) // another instance may report the same change
		r.WaitIdle()
		if got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log); len(got) != 2 ||
			got[1].Server != "search" ||
			got[1].Key.Instance != 0 || got[1].Method != "notifications/tools/list_changed" {
			t.Errorf("announced %+v", got)
		}
		if got := r.record("search"); got.Open != 3 {
			t.Errorf("%d connections", got.Open)
		}
		second := r.Ref("client_sup/" + search + ",instance=2/connection")
		r.Send("catalog", &client.Unused{
			Server: "search", Key: tenant.Key{Share: tenant.ByPrincipal, Principal: "ci", Instance: 1},
			From: second,
		})
		if second.Alive() {
			t.Error("an instance that nobody uses lives on")
		}
		if v := <-r.looks(r.caller("ci", "")); v.err != nil ||
			strings.Contains(listed(v, merge.Tools), "other") {
			t.Errorf("the tool of an instance that has ended is listed: %s, %v",
				listed(v, merge.Tools), v.err)
		}
		if i, err := r.another("ci"); err != nil || i.Key.Instance != 1 {
			t.Errorf("got %+v, %v", i.Key, err)
		}
	})
}

// A server that may send no requests to clients is told of no capability for them, and is shared
// whatever the clients declare.
func TestMuteServerIsSharedByAll(t *testing.T) {
	asks, err := protocol.ParseClientCapabilities(jsontext.Value(`{"elicitation":{},"roots":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	for mute, want := range map[bool]string{true: "principal=ci",
		false: "principal=ci,caps=roots.elicitation-form"} {
		s := tenant.Server{Name: "files", Command: tenant.NewSecret("files"), DenyRequests: mute}
		c := catalog.Caller{Principal: "ci", Session: "s", Capabilities: asks}
		if own, lists := catalog.Key(s, c).String(), catalog.ListKey(s, c).String(); own != want ||
			lists != want {
			t.Errorf("mute %t: connections %s and %s, want %s", mute, own, lists, want)
		}
	}
}

// A connection is keyed by what its server is told, which excludes withheld capabilities. A client
// without a session uses the connection from which its lists come, even if each session has its
// own.
func TestConnectionsAreKeyedByWhatServersAreTold(t *testing.T) {
	asks, err := protocol.ParseClientCapabilities(
		jsontext.Value(`{"elicitation":{},"roots":{},"sampling":{}}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	c := catalog.Caller{
		Principal: "ci", Session: "s", Capabilities: asks,
		Withheld: protocol.CanSample | protocol.CanElicitForm,
	}
	s := tenant.Server{Name: "files", Command: tenant.NewSecret("files")}
	if got := catalog.Key(s, c).String(); got != "principal=ci,caps=roots" ||
		string(c.Visible().Raw()) != `{"roots":{}}` {
		t.Errorf("connection %s, of which the server is told %s", got, c.Visible().Raw())
	}
	s.Share, c.Peer, c.Modern = tenant.BySession, true, true
	if own, lists := catalog.Key(s, c), catalog.ListKey(s, c); own != lists ||
		own.String() != "principal=ci,caps=roots,modern" {
		t.Errorf("connections %s and %s", own, lists)
	}
}
