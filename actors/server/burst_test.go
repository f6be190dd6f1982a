package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/actors/server"
	"mcpd/gateway/tenant"
)

// starting configures a tenant with many servers, which answer initialize when the gate is closed.
func starting(servers int, gate *chan struct{}) func(r *rig) {
	return func(r *rig) {
		r.tenant.Servers = nil
		for i := range servers {
			name := fmt.Sprintf("s%03d", i)
			r.tenant.Servers = append(r.tenant.Servers, tenant.Server{
				// shared by tenant or by principal, in turn
				Name: name, Command: tenant.NewSecret(name), Share: tenant.Share(i%2 + 1),
				Intensity: tenant.Intensity{Restarts: 5, Within: 30 * time.Second},
			})
			answers := script{}
			for method, result := range files() {
				answers[method] = result
			}
			answers["initialize"] = func(params jsontext.Value) string {
				<-*gate
				time.Sleep(time.Duration(i) * time.Millisecond)
				return offers(`{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true},"logging":{}}`)(params)
			}
			r.script[name] = answers
		}
	}
}

// lists are the lists whose changes are announced.
var lists = []string{"tools", "prompts", "resources"}

// When very many servers start in one burst, each session on the aggregate endpoint is told once.
// In the dispatcher such a session is one listener. It registers once for each kind of connection,
// however many servers there are.
func TestBurstOfServersIsToldOnce(t *testing.T) {
	const sessions, kinds = 40, 2
	for _, servers := range []int{10, 150} {
		var gate chan struct{}
		run(t, starting(servers, &gate), func(r *rig) {
			gate = make(chan struct{}) // made inside the bubble
			var all []*user
			for range sessions {
				u := r.open("ci", "")
				u.ask("initialize", greeting("2025-11-25", "{}"))
				all = append(all, u)
			}
			time.Sleep(server.AggregateWait + time.Second)
			for _, u := range all {
				u.tell("notifications/initialized", "")
			}
			if got := r.registered.Load(); got != sessions*kinds {
				t.Errorf("%d servers: %d sessions have asked the dispatcher %d times, want %d", servers,
					sessions, got, sessions*kinds)
			}
			close(gate)
			time.Sleep(time.Minute)
			for i, u := range all {
				for _, list := range lists {
					if got := u.heard("notifications/" + list + "/list_changed"); len(got) != 1 {
						t.Fatalf("%d servers: session %d heard %d times that %s have changed", servers, i,
							len(got), list)
					}
				}
			}
			counts, err := testrig.Ask[notification.StatsRequest, notification.Counts](r.Rig, "notices",
				notification.StatsRequest{})
			if want := uint64(sessions * len(lists)); err != nil || counts.Delivered != want ||
				counts.Handlers != sessions {
				t.Errorf("%d servers: %+v, %v; want %d delivered", servers, counts, err, want)
			}
		})
	}
}

// A session takes only the notices that concern its endpoint: list changes of one server on the
// transparent endpoint, and those of the aggregate's list on the aggregate endpoint.
func TestSessionTakesNoticesOfWhatItSees(t *testing.T) {
	run(t, nil, func(r *rig) {
		all, alone := r.ready(`{}`), r.open("ci", "files")
		alone.shake(`{}`)
		for _, c := range []struct {
			u      *user
			server string
			method string
			heard  int
		}{
			{all, "", "notifications/tools/list_changed", 1},
			{all, "files", "notifications/tools/list_changed", 0},
			{all, "files", "notifications/message", 1},
			{all, "search", "notifications/message", 1},
			{alone, "", "notifications/tools/list_changed", 0},
			{alone, "files", "notifications/tools/list_changed", 1},
			{alone, "files", "notifications/message", 1},
			{alone, "search", "notifications/message", 0},
		} {
			before := len(c.u.heard(c.method))
			n := &notification.Notice{
				Server: c.server, Method: c.method, Params: jsontext.Value(`{"level":"error","data":"x"}`),
			}
			if err := c.u.h.Send(n); err != nil {
				t.Fatal(err)
			}
			if got := len(c.u.heard(c.method)) - before; got != c.heard {
				t.Errorf("server of the session %q: heard %d of %s of server %q, want %d",
					c.u.h.Endpoint().Server, got, c.method, c.server, c.heard)
			}
		}
	})
}

// A session with its own connection is told of a change over that connection. The same change is
// announced at another time over the shared connection, to the other sessions.
func TestAChangeIsAnnouncedOncePerSession(t *testing.T) {
	const method = "notifications/tools/list_changed"
	run(t, func(r *rig) { r.tenant.Servers[0].Share = tenant.BySession }, func(r *rig) {
		all, alone, others := r.ready(`{}`), r.alone("ci", `{}`), r.ready(`{}`)
		others.ask("tools/list", `{}`)
		lists := r.peer("files")
		var own []*peer
		for _, u := range []*user{all, alone} {
			name := "read"
			if u == all {
				u.ask("tools/list", `{}`)
				name = "files__read"
			}
			u.ask("tools/call", `{"name":"`+name+`"}`)
			own = append(own, r.hearing("tools/call"))
		}
		if own[0] == own[1] || own[0] == lists {
			t.Fatal("the sessions share a connection")
		}
		for _, p := range []*peer{lists, own[0], own[1]} {
			p.Notify(method, "")
			time.Sleep(10 * time.Second)
			r.WaitIdle()
		}
		for i, u := range []*user{all, alone, others} {
			if n := len(u.heard(method)); n != 1 {
				t.Errorf("client %d heard %d times of one change", i, n)
			}
		}
	})
}
