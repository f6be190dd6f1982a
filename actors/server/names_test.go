package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/quota"
	"mcpd/protocol/jsonedit"
)

// clashing makes both servers list the same resource. The server "files", which is configured
// first, starts only when the test answers its initialize.
func clashing(r *rig) {
	r.script["files"]["initialize"] = nil
	r.script["search"] = script{
		"initialize": offers(`{"tools":{},"resources":{"subscribe":true}}`),
		"tools/list": result(
			`{"tools":[{"name":"find.it","inputSchema":{"type":"object"}}]}`,
		),
		"tools/call": func(params jsontext.Value) string {
			return `{"content":[],"called":` + string(params) + `}`
		},
		"resources/list":           result(`{"resources":[{"uri":"test://x","name":"x"}]}`),
		"resources/templates/list": result(`{"resourceTemplates":[]}`),
		"resources/read":           result(`{"contents":[{"uri":"test://x","text":"search"}]}`),
		"resources/subscribe":      result(`{}`),
		"resources/unsubscribe":    result(`{}`),
	}
	r.script["files"]["resources/read"] = result(`{"contents":[{"uri":"test://x","text":"files"}]}`)
}

// soon is ask for a request that waits for starting servers.
func (u *user) soon(method, params string) string {
	u.r.T.Helper()
	out := u.ask(method, params)
	time.Sleep(12 * time.Second)
	u.r.WaitIdle()
	if e := out.Outcome().Error; e != nil {
		return e.Message
	}
	return string(out.Outcome().Result)
}

// A URI does not change its owner when a server that is configured earlier starts later. A
// subscription ends at the server where it was made.
func TestURIsDoNotChangeHands(t *testing.T) {
	run(t, clashing, func(r *rig) {
		u := r.open("ci", "")
		u.soon("initialize", greeting("2025-11-25", `{}`))
		u.tell("notifications/initialized", "")
		const held = `{"uri":"mcpd://search/test%3A%2F%2Fx"}`
		if got := u.soon("resources/list",
			`{}`); got != `{"resources":[{"uri":"mcpd://search/test%3A%2F%2Fx","name":"x"}],"_meta":{"mcpd/incomplete":{"files":"it has not listed anything yet"}}}` {
			t.Errorf("listed are %s", got)
		}
		if got := u.soon("resources/read", `{"uri":"test://x"}`); !strings.Contains(got, "server files") {
			t.Errorf("a URI of which nobody knows whose it is: %s", got)
		}
		if got := u.soon("resources/read",
			held); got != `{"contents":[{"uri":"mcpd://search/test%3A%2F%2Fx","text":"search"}]}` {
			t.Errorf("read: %s", got)
		}
		u.soon("resources/subscribe", held)
		search := r.latest("search")
		before := len(u.heard("notifications/resources/list_changed"))
		files := r.latest("files")
		files.answer("initialize", offers(all)(nil))
		time.Sleep(5 * time.Second)
		r.WaitIdle()
		if got := u.soon("resources/list",
			`{}`); got != `{"resources":[{"uri":"test://x","name":"x"},{"uri":"mcpd://search/test%3A%2F%2Fx","name":"x"}]}` {
			t.Errorf("listed are %s", got)
		}
		if len(u.heard("notifications/resources/list_changed")) == before {
			t.Error("nobody was told")
		}
		if got := u.soon("resources/read", held); !strings.Contains(got, `"search"`) {
			t.Errorf("read: %s", got)
		}
		if got := u.soon("resources/read", `{"uri":"test://x"}`); !strings.Contains(got, `"files"`) {
			t.Errorf("read: %s", got)
		}
		u.soon("resources/unsubscribe", held)
		if s, f := len(search.heard("resources/unsubscribe")),
			len(files.heard("resources/unsubscribe")); s != 1 || f != 0 {
			t.Errorf("search heard %d, files %d", s, f)
		}
	})
}

// A subscription ends at the server where it was made, even if its URI belongs to another server by
// then, and only once for all names of the resource.
func TestSubscriptionEndsWhereItWasMade(t *testing.T) {
	run(t, func(r *rig) {
		clashing(r)
		r.script["files"] = files()
		r.script["files"]["resources/list"] = result(`{"resources":[]}`)
	}, func(r *rig) {
		u := r.ready(`{}`)
		u.soon("resources/subscribe", `{"uri":"test://x"}`)
		u.soon("resources/subscribe", `{"uri":"mcpd://search/test%3A%2F%2Fx"}`)
		search, fls := r.latest("search"), r.latest("files")
		r.script["files"]["resources/list"] = result(`{"resources":[{"uri":"test://x","name":"x"}]}`)
		fls.Notify("notifications/resources/list_changed", `{}`)
		fls.Notify("notifications/tools/list_changed", `{}`)
		time.Sleep(5 * time.Second)
		if got := u.soon("resources/list", `{}`); !strings.HasPrefix(got,
			`{"resources":[{"uri":"test://x","name":"x"},`) {
			t.Fatalf("listed are %s", got)
		}
		u.soon("resources/unsubscribe", `{"uri":"test://x"}`)
		if s := len(search.heard("resources/unsubscribe")); s != 0 {
			t.Errorf("search heard %d, though the client wants it still", s)
		}
		search.Notify("notifications/resources/updated", `{"uri":"test://x"}`)
		if got := u.heard("notifications/resources/updated"); len(got) != 1 ||
			string(got[0].Params) != `{"uri":"mcpd://search/test%3A%2F%2Fx"}` {
			t.Errorf("heard %v", got)
		}
		u.soon("resources/unsubscribe", `{"uri":"mcpd://search/test%3A%2F%2Fx"}`)
		if s, f := len(search.heard("resources/unsubscribe")),
			len(fls.heard("resources/unsubscribe")); s != 1 || f != 0 {
			t.Errorf("search heard %d, files %d", s, f)
		}
	})
}

// A client that subscribed to a resource under two names gets notifications under both. The end of
// one subscription leaves the other, even if the client was never subscribed under the name that it
// ends.
func TestTwoNamesOfOneResourceAreTwoSubscriptions(t *testing.T) {
	const bare, full = `{"uri":"test://x"}`, `{"uri":"mcpd://files/test%3A%2F%2Fx"}`
	heard := func(u *user, p *peer) (all []string) {
		before := len(u.heard("notifications/resources/updated"))
		p.Notify("notifications/resources/updated", bare)
		for _, m := range u.heard("notifications/resources/updated")[before:] {
			all = append(all, string(m.Params))
		}
		return all
	}
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		u.soon("resources/subscribe", bare)
		u.soon("resources/subscribe", full)
		p := r.latest("files")
		if got := heard(u, p); !slices.Equal(got, []string{bare, full}) {
			t.Errorf("subscribed to both: heard %v", got)
		}
		u.soon("resources/unsubscribe", full)
		u.soon("resources/unsubscribe", full)
		if got := heard(u, p); !slices.Equal(got, []string{bare}) {
			t.Errorf("subscribed to one: heard %v", got)
		}
		if n := len(p.heard("resources/unsubscribe")); n != 0 {
			t.Errorf("the server heard %d times that the client has let go", n)
		}
		u.soon("resources/unsubscribe", bare)
		if n := len(p.heard("resources/unsubscribe")); n != 1 {
			t.Errorf("the server heard %d times that the client has let go", n)
		}
		if got := heard(u, p); len(got) != 0 {
			t.Errorf("subscribed to none: heard %v", got)
		}
	})
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		u.soon("resources/subscribe", full)
		p := r.latest("files")
		u.soon("resources/unsubscribe", bare)
		if got := heard(u, p); !slices.Equal(got, []string{full}) {
			t.Errorf("unsubscribed from another name: heard %v", got)
		}
		if n := len(p.heard("resources/unsubscribe")); n != 0 {
			t.Errorf("the server heard %d times that the client has let go", n)
		}
	})
	run(t, nil, func(r *rig) {
		out := r.caller(`{}`).ask("subscriptions/listen",
			`{"notifications":{"resourceSubscriptions":["test://x","mcpd://files/test%3A%2F%2Fx"]}}`)
		r.peer("files").Notify(updated, bare)
		if got := news(t, out, "1"); len(got) != 3 {
			t.Errorf("in one listen: heard %v", got)
		}
	})
}

// A URI that a server gave to a principal outside its lists leads back to that server, for that
// principal only.
func TestReferencesLeadBack(t *testing.T) {
	run(t, func(r *rig) {
		r.script["files"]["tools/call"] = result(`{"content":[{"type":"resource_link","uri":"skill://x/SKILL.md","name":"x"},` +
			`{"type":"resource","resource":{"uri":"test://hidden","text":"x"}},{"type":"resource_link","uri":"https://example.com/x","name":"x"}],"_meta":{"ui":{"resourceUri":"ui://page"}}}`)
		r.script["files"]["resources/read"] = func(params jsontext.Value) string {
			uri, _ := jsonedit.Get(params, "uri")
			return `{"contents":[{"uri":` + string(uri) + `,"text":"files"}]}`
		}
	}, func(r *rig) {
		u, other := r.ready(`{}`), r.open("else", "")
		other.shake(`{}`)
		out := u.call()
		want := `{"content":[{"type":"resource_link","uri":"mcpd://files/skill%3A%2F%2Fx%2FSKILL.md","name":"x"},` +
			`{"type":"resource","resource":{"uri":"mcpd://files/test%3A%2F%2Fhidden","text":"x"}},{"type":"resource_link","uri":"https://example.com/x","name":"x"}],"_meta":{"ui":{"resourceUri":"ui://mcpd/files/page"}}}`
		if got := string(out.Outcome().Result); got != want {
			t.Errorf("the result is %s", got)
		}
		for _, uri := range []string{
			"mcpd://files/skill%3A%2F%2Fx%2FSKILL.md", "mcpd://files/test%3A%2F%2Fhidden",
			"ui://mcpd/files/page",
			"skill://x/SKILL.md", "test://hidden", "https://example.com/x", "ui://page",
		} {
			params := fmt.Sprintf(`{"uri":%q}`, uri)
			if got, want := u.soon("resources/read",
				params), fmt.Sprintf(`{"contents":[{"uri":%q,"text":"files"}]}`, uri); got != want {
				t.Errorf("%s reads %s, want %s", uri, got, want)
			}
			if got := other.soon("resources/read", params); !strings.HasPrefix(uri, "mcpd:") &&
				!strings.HasPrefix(uri, "ui://mcpd/") && !strings.Contains(got, "not found") {
				t.Errorf("%s reads %s for another principal", uri, got)
			}
		}
	})
}

// Remembered references are charged to the tenant.
func TestReferencesAreCounted(t *testing.T) {
	run(t, func(r *rig) {
		r.script["files"]["tools/call"] = result(
			`{"content":[{"type":"resource_link","uri":"test://hidden","name":"x"}]}`,
		)
		r.countsCatalog = true
	}, func(r *rig) {
		u := r.ready(`{}`)
		if out := u.call(); out.Word() != "result" {
			t.Fatal(out.All())
		}
		if n := r.kept.Account("acme").Holding().Kinds[quota.References]; n <
			int64(len("test://hidden")) {
			t.Errorf("%d bytes count", n)
		}
	})
}

// A tool whose name is changed for the aggregate's list is called by its own name at its server. On
// the transparent endpoint it keeps its name.
func TestChangedNamesLeadBack(t *testing.T) {
	run(t, func(r *rig) {
		clashing(r)
		r.script["files"] = files()
	}, func(r *rig) {
		u := r.ready(`{}`)
		if got := u.soon("tools/call",
			`{"name":"search__find_it"}`); got != `{"content":[],"called":{"name":"find.it"}}` {
			t.Errorf("called as %s", got)
		}
		if got := u.soon("tools/list", `{}`); !strings.Contains(got, `{"name":"search__find_it",`) {
			t.Errorf("listed are %s", got)
		}
		alone := r.open("ci", "search")
		alone.shake(`{}`)
		if got := alone.soon("tools/list", `{}`); !strings.Contains(got, `{"name":"find.it",`) {
			t.Errorf("alone it is %s", got)
		}
	})
}

// In a revision without links, links become texts, with the URI by which the client can read the
// resource.
func TestLinksInTextsLeadBack(t *testing.T) {
	run(t, func(r *rig) {
		r.script["files"]["tools/call"] = result(
			`{"content":[{"type":"resource_link","uri":"test://hidden","name":"x"}]}`,
		)
	}, func(r *rig) {
		u := r.open("ci", "")
		if out := u.ask("initialize", greeting("2025-03-26", `{}`)); out.Word() != "result" {
			t.Fatal(out.All())
		}
		u.tell("notifications/initialized", "")
		if got := string(u.call().Outcome().Result); !strings.Contains(got,
			"mcpd://files/test%3A%2F%2Fhidden") {
			t.Errorf("got %s", got)
		}
	})
}
