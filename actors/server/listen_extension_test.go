package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

const (
	things  = "notifications/acme/things"
	filters = `{"notifications":{"toolsListChanged":true,"acme/things":{"of":["a"]}}}`
)

// listens makes "files" a modern server with an extension. The test acknowledges its subscriptions.
func listens(r *rig) {
	silent(r)
	modern(r)
	r.script["files"]["server/discover"] = result(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],` +
		`"capabilities":{"tools":{"listChanged":true},"extensions":{"acme/things":{}}}}`)
	r.script["files"]["subscriptions/listen"] = nil
}

// confirms acknowledges the subscriptions whose filter contains what. It returns the id of the
// last.
func (p *peer) confirms(label string) (id jsonrpc.ID) {
	for _, m := range p.heard("subscriptions/listen") {
		if filter, _ := jsonedit.Get(m.Params, "notifications"); strings.Contains(string(filter), label) {
			id = m.ID
			p.Notify(acknowledged, fmt.Sprintf(`{"notifications":%s,"_meta":{%q:%s}}`, filter,
				protocol.MetaSubscriptionID, id.Raw()))
		}
	}
	return id
}

// The filter of an extension that both ends have declared is sent to the server, which acknowledges
// it. Its notifications go to the clients with that filter. The server is told when the last of
// them has gone.
func TestListenToAnExtension(t *testing.T) {
	run(t, listens, func(r *rig) {
		c, other := r.caller(acme), r.caller(acme)
		c.server, other.server = "files", "files"
		other.id = 100
		out := c.ask("subscriptions/listen", filters)
		plain := other.ask("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
		p := r.peer("files")
		if granted(out) != "none" {
			t.Fatalf("confirmed before the server has: %v", out.All())
		}
		id := p.confirms("acme/things")
		r.WaitIdle()
		if got := granted(out); got != `{"toolsListChanged":true,"acme/things":{"of":["a"]}}` {
			t.Fatalf("granted %s", got)
		}
		p.Notify(things, fmt.Sprintf(`{"n":1,"_meta":{%q:%s}}`, protocol.MetaSubscriptionID, id.Raw()))
		r.WaitIdle()
		if got := news(t, out, "1"); !slices.Equal(got, []string{acknowledged, things}) {
			t.Errorf("heard %v", got)
		}
		if n, _ := jsonedit.Get(out.Sent()[1].Params, "n"); string(n) != "1" {
			t.Errorf("heard %s", out.Sent()[1].Params)
		}
		if got := news(t, plain, "101"); !slices.Equal(got, []string{acknowledged}) {
			t.Errorf("who did not ask heard %v", got)
		}
		c.leave(out)
		r.WaitIdle()
		told := p.heard("notifications/cancelled")
		if len(told) != 1 || !strings.Contains(string(told[0].Params), `"requestId":`+id.Raw()) {
			t.Errorf("the server was told %v", told)
		}
	})
}

// The filter is left out, and not sent, if the server has not declared the extension, on the
// aggregate endpoint, and for a server whose revision has no subscriptions. It is also left out if
// the server leaves it out.
func TestListenToAnExtensionThatIsNotThere(t *testing.T) {
	const left = `{"toolsListChanged":true}`
	for name, tt := range map[string]struct {
		server, caps string
		change       func(r *rig)
	}{
		"not in common": {"files", `{"extensions":{"acme/others":{}}}`, listens},
		"all servers":   {"", acme, listens},
		"a legacy server": {"files", acme, func(r *rig) {
			extends(r)
			r.script["files"]["initialize"] = offers(
				`{"tools":{"listChanged":true},"extensions":{"acme/things":{}}}`,
			)
		}},
	} {
		run(t, tt.change, func(r *rig) {
			c := r.caller(tt.caps)
			c.server = tt.server
			out := c.ask("subscriptions/listen", filters)
			if got := granted(out); got != left {
				t.Errorf("%s: granted %s", name, got)
			}
			p := r.peer("files")
			for _, m := range append(p.heard("subscriptions/listen"), p.heard("resources/subscribe")...) {
				if strings.Contains(string(m.Params), "things\":{\"of") {
					t.Errorf("%s: asked %s", name, m.Params)
				}
			}
		})
	}
	run(t, listens, func(r *rig) {
		c := r.caller(acme)
		c.server = "files"
		out := c.ask("subscriptions/listen", filters)
		p := r.peer("files")
		for _, m := range p.heard("subscriptions/listen") {
			p.Notify(acknowledged, fmt.Sprintf(`{"notifications":{},"_meta":{%q:%s}}`,
				protocol.MetaSubscriptionID, m.ID.Raw()))
		}
		r.WaitIdle()
		if got := granted(out); got != left {
			t.Errorf("left out by the server: granted %s", got)
		}
		if out := c.ask("subscriptions/listen",
			`{"notifications":{"acme/things":"`+strings.Repeat("x", merge.MaxURI)+
				`"}}`); out.Word() != int64(-32602) {
			t.Errorf("a large filter: %v", out.All())
		}
		if out := c.ask("subscriptions/listen",
			`{"notifications":{"resourceSubscriptions":["\u0000{}"]}}`); out.Word() != int64(-32602) {
			t.Errorf("a URI that is a filter: %v", out.All())
		}
	})
}
