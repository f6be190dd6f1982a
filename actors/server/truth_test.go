package server_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
)

const toolsChanged = "notifications/tools/list_changed"

// seesAlone is a client on the transparent endpoint of "files".
func (r *rig) seesAlone() *user {
	u := r.open("ci", "files")
	u.shake(`{}`)
	return u
}

// While a server runs, a list request on its transparent endpoint goes to the server. The server's
// error is the answer, and never an empty list. The request counts as one of the session's, has a
// deadline, and can be cancelled.
func TestListOfAServerThatRunsIsItsAnswer(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.seesAlone()
		r.script["files"]["tools/list"] = result(offline)
		if out := u.ask("tools/list", ""); out.Word() != int64(-32603) ||
			!strings.Contains(out.Outcome().Error.Message, "no network") {
			t.Errorf("a list that fails: %v", out.All())
		}
		if out := u.ask("prompts/list", ""); !strings.Contains(string(out.Outcome().Result), "greet") {
			t.Errorf("another list: %v", out.All())
		}
		r.script["files"]["tools/list"] = nil
		start := time.Now()
		late := u.ask("tools/list", "")
		if len(late.All()) != 0 {
			t.Errorf("a list that is late is answered %v", late.All())
		}
		for range 4 {
			u.ask("tools/list", "")
		}
		if out := u.ask("tools/list", ""); out.Word() != int64(-32010) {
			t.Errorf("one request more than a session may have: %v", out.All())
		}
		u.tell("notifications/cancelled", `{"requestId":5}`)
		if got := len(r.peer("files").heard("notifications/cancelled")); got != 1 {
			t.Errorf("the server heard of %d cancellations", got)
		}
		time.Sleep(r.tenant.Limits.CallTimeout)
		r.WaitIdle()
		if took := time.Since(start); late.Word() != int64(-32009) || len(late.All()) != 1 {
			t.Errorf("after %v: %v", took, late.All())
		}
	})
}

// A first list that fails is an error on the transparent endpoint. On the aggregate endpoint it is
// missing from the list, which says so. When it comes later, it is announced on both.
func TestFirstListThatFailsIsNoEmptyList(t *testing.T) {
	var online atomic.Bool
	list := func(jsontext.Value) string {
		if online.Load() {
			return `{"tools":[{"name":"read","inputSchema":{"type":"object"}}]}`
		}
		return offline
	}
	run(t, func(r *rig) { r.script["files"]["tools/list"] = list }, func(r *rig) {
		u, alone := r.ready(`{}`), r.seesAlone()
		got := string(u.ask("tools/list", "").Outcome().Result)
		if !strings.Contains(got, "search__find") ||
			!strings.Contains(got, `"mcpd/incomplete":{"files":"tools/list: `) ||
			!strings.Contains(got, "no network") {
			t.Errorf("of all servers: %s", got)
		}
		if got := string(u.ask("prompts/list", "").Outcome().Result); strings.Contains(got,
			"incomplete") {
			t.Errorf("a list that lacks nothing: %s", got)
		}
		if out := alone.ask("tools/list", ""); out.Word() != int64(-32603) {
			t.Errorf("of the one server: %v", out.All())
		}
		online.Store(true)
		time.Sleep(time.Minute)
		r.WaitIdle()
		for name, who := range map[string]*user{"all": u, "one": alone} {
			if got := len(who.heard(toolsChanged)); got != 1 {
				t.Errorf("who sees %s heard %d times that the tools changed", name, got)
			}
			if out := string(who.ask("tools/list", "").Outcome().Result); !strings.Contains(out, `read"`) ||
				strings.Contains(out, "incomplete") {
				t.Errorf("who sees %s then gets %s", name, out)
			}
		}
	})
}

// A list that takes 7 s appears: at once for a client that waits for it with its server, and by an
// announcement for a client that got the aggregate's list without it.
func TestLateListAppears(t *testing.T) {
	for _, takes := range []time.Duration{7 * time.Second, 40 * time.Second} {
		t.Run(takes.String(), func(t *testing.T) {
			slow := func(r *rig) {
				r.script["files"]["tools/list"] = func(jsontext.Value) string {
					time.Sleep(takes)
					return `{"tools":[{"name":"read","inputSchema":{"type":"object"}}]}`
				}
			}
			run(t, slow, func(r *rig) {
				start := time.Now()
				u := r.open("ci", "")
				hello := u.ask("initialize", greeting("2025-11-25", `{}`))
				if time.Sleep(client.ListGrace); hello.Word() != "result" {
					t.Fatalf("the handshake: %v", hello.All())
				}
				u.tell("notifications/initialized", "")
				out := u.ask("tools/list", "")
				for len(out.All()) == 0 {
					time.Sleep(time.Second)
				}
				took, got := time.Since(start), string(out.Outcome().Result)
				switch wait := r.tenant.Limits.ListWait; {
				case takes < wait && (!strings.Contains(got, "files__read") ||
					strings.Contains(got, "incomplete")):
					t.Errorf("after %v: %s", took, got)
				case takes > wait && (!strings.Contains(got, "search__find") ||
					!strings.Contains(got, `"files":"tools/list: no answer yet"`)):
					t.Errorf("after %v: %s", took, got)
				}
				time.Sleep(takes)
				r.WaitIdle()
				if heard := len(u.heard(toolsChanged)); heard > 1 ||
					heard == 0 && takes > r.tenant.Limits.ListWait {
					t.Errorf("heard of it %d times", heard)
				}
				if got := string(u.ask("tools/list", "").Outcome().Result); !strings.Contains(got,
					"files__read") {
					t.Errorf("then %s", got)
				}
			})
		})
	}
}
