package server_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/server"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

const (
	acknowledged = "notifications/subscriptions/acknowledged"
	updated      = "notifications/resources/updated"
	everything   = `{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["test://x"]}}`
)

// news are the methods of the notifications on a subscription. It checks that each carries the
// subscription's id.
func news(t *testing.T, out *testrig.Sink, id string) (methods []string) {
	t.Helper()
	for _, m := range out.Sent() {
		if got, _ := jsonedit.Get(m.Params, "_meta", protocol.MetaSubscriptionID); string(got) != id {
			t.Errorf("%v has the subscription %s, want %s", m, got, id)
		}
		methods = append(methods, m.Method)
	}
	return methods
}

// change gives "files" another tool.
func (r *rig) change(p *peer) {
	r.tools++
	r.script["files"]["tools/list"] = result(
		fmt.Sprintf(
			`{"tools":[{"name":"read","inputSchema":{"type":"object"}},{"name":"t%d","inputSchema":{"type":"object"}}]}`, r.tools,
		),
	)
	p.Notify("notifications/tools/list_changed", "")
	r.announced()
}

// announced waits until sessions on the aggregate endpoint have been told of a change.
func (r *rig) announced() {
	r.WaitIdle()
	time.Sleep(merge.ChangesQuiet)
	r.WaitIdle()
}

// granted is the filter of the acknowledgement.
func granted(out *testrig.Sink) string {
	for _, m := range out.Sent() {
		if m.Method == acknowledged {
			filter, _ := jsonedit.Get(m.Params, "notifications")
			return string(filter)
		}
	}
	return "none"
}

// A subscription is first acknowledged, with the part of its filter that servers declared and
// agreed to. It gets only notifications of that part, each tagged with its own id.
func TestListenHearsWhatWasGranted(t *testing.T) {
	run(t, nil, func(r *rig) {
		c := r.caller(`{}`)
		whole := c.ask("subscriptions/listen", everything)
		tools := c.ask("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"tasks":1}}`)
		none := c.ask("subscriptions/listen", `{"notifications":{}}`)
		for out, want := range map[*testrig.Sink]string{
			whole: `{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["test://x"]}`, tools: `{"toolsListChanged":true}`, none: `{}`,
		} {
			if got := granted(out); got != want {
				t.Errorf("granted %s, want %s", got, want)
			}
		}
		p := r.peer("files")
		r.change(p)
		r.script["files"]["prompts/list"] = result(`{"prompts":[]}`)
		p.Notify("notifications/prompts/list_changed", "")
		r.announced()
		p.Notify("notifications/message", `{"level":"error","data":1}`)
		p.Notify(updated, `{"uri":"test://x/below"}`)
		p.Notify(updated, `{"uri":"test://y"}`)
		const changed = "notifications/tools/list_changed"
		if got := news(t, whole, "1"); !slices.Equal(got,
			[]string{acknowledged, changed, "notifications/prompts/list_changed", updated}) {
			t.Errorf("heard %v", got)
		}
		if got := news(t, tools, "2"); !slices.Equal(got, []string{acknowledged, changed}) {
			t.Errorf("heard %v", got)
		}
		if got := news(t, none, "3"); len(got) != 1 {
			t.Errorf("heard %v", got)
		}
	})
}

// An invalid filter is refused.
func TestListenIsChecked(t *testing.T) {
	run(t, nil, func(r *rig) {
		for _, params := range []string{`{}`, `{"notifications":[]}`,
			`{"notifications":{"resourceSubscriptions":[1]}}`} {
			if out := r.caller(`{}`).ask("subscriptions/listen", params); out.Word() != int64(-32602) ||
				len(out.Sent()) != 0 {
				t.Errorf("%s: %v", params, out.All())
			}
		}
	})
}

// The resources of a filter may belong to several servers. A resource is left out if its server
// refuses, or no server has it. The acknowledgement waits for all servers.
func TestListenAsksEveryServer(t *testing.T) {
	run(t, func(r *rig) {
		r.script["files"]["resources/subscribe"] = nil
		r.script["files"]["resources/list"] = result(
			`{"resources":[{"uri":"test://x","name":"x"},{"uri":"test://no","name":"no"}]}`,
		)
		r.script["search"] = script{
			"initialize":               offers(`{"resources":{"subscribe":true}}`),
			"resources/list":           result(`{"resources":[{"uri":"other://y","name":"y"}]}`),
			"resources/templates/list": result(`{"resourceTemplates":[]}`),
			"resources/subscribe":      result(`{}`), "resources/unsubscribe": result(`{}`),
		}
	}, func(r *rig) {
		c := r.caller(`{}`)
		out := c.ask("subscriptions/listen",
			`{"notifications":{"resourceSubscriptions":["test://x","test://no","other://y","nobody://z"]}}`)
		files, search := r.peer("files"), r.peer("search")
		search.Notify(updated, `{"uri":"other://y"}`)
		if got := out.Sent(); len(got) != 0 {
			t.Errorf("before all have agreed: %v", got)
		}
		asked := files.heard("resources/subscribe")
		if len(asked) != 2 {
			t.Fatalf("asked %v", asked)
		}
		files.send(transport.Inbound{Message: jsonrpc.Response(asked[0].ID, jsontext.Value(`{}`))})
		files.send(transport.Inbound{Message: jsonrpc.Failure(asked[1].ID, &jsonrpc.Error{Code: -32602})})
		r.WaitIdle()
		if got := granted(out); got != `{"resourceSubscriptions":["test://x","other://y"]}` {
			t.Errorf("granted %s", got)
		}
		search.Notify(updated, `{"uri":"other://y"}`)
		files.Notify(updated, `{"uri":"test://no"}`)
		if got := news(t, out, "1"); !slices.Equal(got, []string{acknowledged, updated}) {
			t.Errorf("heard %v", got)
		}
	})
}

// The resource of a server that does not answer is left out after a time-out.
func TestListenWaitsForNoServerForEver(t *testing.T) {
	run(t, func(r *rig) { r.script["files"]["resources/subscribe"] = nil }, func(r *rig) {
		out := r.caller(`{}`).ask("subscriptions/listen", everything)
		time.Sleep(r.tenant.Limits.RequestTimeout)
		if got := granted(out); got != `{"toolsListChanged":true,"promptsListChanged":true}` {
			t.Errorf("granted %s", got)
		}
	})
}

// A server is told to forget a resource when the last subscription to it ends, but not while
// another subscription to it is being made.
func TestLastListenOfAResourceUnsubscribes(t *testing.T) {
	run(t, nil, func(r *rig) {
		c := r.caller(`{}`)
		first, second := c.ask("subscriptions/listen",
			everything), c.ask("subscriptions/listen", everything)
		p := r.peer("files")
		c.leave(first)
		c.leave(first)
		if got := p.heard("resources/unsubscribe"); len(got) != 0 || first.Word() != "cancelled" {
			t.Errorf("told %v, got %v", got, first.All())
		}
		p.Notify(updated, `{"uri":"test://x"}`)
		if len(news(t, first, "1")) != 1 || len(news(t, second, "2")) != 2 {
			t.Errorf("heard %v and %v", first.Sent(), second.Sent())
		}
		c.leave(second)
		if got := p.heard("resources/unsubscribe"); len(got) != 1 ||
			string(got[0].Params) != `{"uri":"test://x"}` {
			t.Errorf("told %v", got)
		}
	})
	run(t, func(r *rig) { r.script["files"]["resources/subscribe"] = nil }, func(r *rig) {
		c := r.caller(`{}`)
		first, second := c.ask("subscriptions/listen",
			everything), c.ask("subscriptions/listen", everything)
		p := r.peer("files")
		c.leave(first) // before the server has agreed
		if got := p.heard("resources/unsubscribe"); len(got) != 0 {
			t.Errorf("told %v, and another asks for it", got)
		}
		for _, asked := range p.heard("resources/subscribe") {
			p.send(transport.Inbound{Message: jsonrpc.Response(asked.ID, jsontext.Value(`{}`))})
		}
		r.WaitIdle()
		if got := granted(second); got !=
			`{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["test://x"]}` {
			t.Errorf("granted %s", got)
		}
		if got := granted(first); got != "none" {
			t.Errorf("who has left was granted %s", got)
		}
	})
}

// A subscription continues over crashes of the session, and is not acknowledged again.
func TestListenOutlivesTheSessionsActor(t *testing.T) {
	run(t, nil, func(r *rig) {
		c := r.caller(`{}`)
		out := c.ask("subscriptions/listen", everything)
		p := r.peer("files")
		for n := range 3 {
			r.Break("server_sup/"+c.peer().Row(), "*session.Deliver")
			c.ask("server/discover", "")
			r.Struck()
			time.Sleep(10 * time.Second)
			p.Notify(updated, `{"uri":"test://x"}`)
			r.change(p)
			if got := news(t, out, "1"); len(got) != 1+2*(n+1) || out.Word() != "none" {
				t.Fatalf("after %d crashes: heard %v, %v", n+1, got, out.All())
			}
		}
		if got := p.heard("resources/unsubscribe"); len(got) != 0 {
			t.Errorf("the server was told %v", got)
		}
		c.leave(out)
		if got := p.heard("resources/unsubscribe"); len(got) != 1 {
			t.Errorf("the server was told %v", got)
		}
	})
}

// gone is a client that is no longer there.
type gone struct{ testrig.Sink }

func (*gone) Send(jsonrpc.Message) error { return errors.New("gone") }

// A client that has gone is noticed at the latest with the next message to it.
func TestListenOfNobodyEnds(t *testing.T) {
	run(t, nil, func(r *rig) {
		c := r.caller(`{}`)
		ep := c.peer()
		for _, out := range []transport.Sink{&deafSink{}, &gone{}} {
			m := jsonrpc.Request(jsonrpc.IntID(9), "subscriptions/listen", jsontext.Value(everything))
			if err := ep.Call(r.T.Context(), m, nil, out); err != nil {
				t.Fatal(err)
			}
			r.WaitIdle()
		}
		p := r.peer("files")
		p.Notify(updated, `{"uri":"test://x"}`)
		if got := p.heard("resources/unsubscribe"); len(got) != 1 {
			t.Errorf("the server was told %v", got)
		}
	})
}

// deafSink accepts the acknowledgement and nothing else.
type deafSink struct {
	testrig.Sink
	told bool
}

func (d *deafSink) Send(jsonrpc.Message) error {
	if d.told {
		return transport.ErrClosed
	}
	d.told = true
	return nil
}

// When a session ends, each subscription ends with a result that has the subscription's id.
func TestListenEndsPolitely(t *testing.T) {
	run(t, func(r *rig) { r.script["files"]["resources/subscribe"] = nil }, func(r *rig) {
		c := r.caller(`{}`)
		out := c.ask("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
		early := c.ask("subscriptions/listen", everything) // not acknowledged yet
		if err := c.peer().Close(r.T.Context()); err != nil {
			t.Fatal(err)
		}
		r.WaitIdle()
		id, _ := jsonedit.Get(out.Outcome().Result, "_meta", protocol.MetaSubscriptionID)
		if kind, _ := jsonedit.GetString(out.Outcome().Result, "resultType"); kind != "complete" ||
			string(id) != "1" || len(out.All()) != 1 {
			t.Errorf("got %v", out.All())
		}
		if early.Word() != int64(-32602) || len(early.Sent()) != 0 {
			t.Errorf("who was not told that it listens: %v after %v", early.All(), early.Sent())
		}
	})
}

// The subscriptions of a peer are bounded, and do not count against its calls.
func TestListensAreBounded(t *testing.T) {
	change := func(r *rig) {
		r.tenant.Limits.MaxPending = 10
		r.kept.Bound(quota.Bounds{Tenants: 2, Total: 64 << 20})
	}
	run(t, change, func(r *rig) {
		c := r.caller(`{}`)
		var last *testrig.Sink
		for n := range server.MaxListens {
			if last = c.ask("subscriptions/listen",
				`{"notifications":{"toolsListChanged":true}}`); granted(last) == "none" {
				t.Fatalf("%d: %v", n, last.All())
			}
		}
		if out := c.ask("subscriptions/listen", everything); out.Word() == "none" ||
			granted(out) != "none" {
			t.Errorf("one more: %v", out.All())
		}
		if out := c.call(); out.Word() != "result" {
			t.Errorf("a call: %v", out.All())
		}
		c.leave(last)
		if out := c.ask("subscriptions/listen", everything); granted(out) == "none" {
			t.Errorf("with room again: %v", out.All())
		}
	})
}

// The end of a server ends no subscription; they are requested again on the next connection.
func TestListenOutlivesTheServer(t *testing.T) {
	run(t, nil, func(r *rig) {
		out := r.caller(`{}`).ask("subscriptions/listen", everything)
		r.peer("files").Close()
		next := r.peer("files")
		next.Notify(updated, `{"uri":"test://x"}`)
		if got := news(t, out, "1"); len(got) < 2 || got[len(got)-1] != updated || out.Word() != "none" {
			t.Errorf("heard %v", got)
		}
	})
}

// A subscription is charged to its tenant with the size of its whole request until it ends. A crash
// of the session's actor changes nothing.
func TestListenIsCounted(t *testing.T) {
	run(t, nil, func(r *rig) {
		c := r.caller(`{}`)
		params := `{"notifications":{"toolsListChanged":true},"pad":"` +
			strings.Repeat("x", 20<<10) + `"}`
		out := c.ask("subscriptions/listen", params)
		kept := func() int64 {
			r.WaitIdle()
			return r.kept.Account("acme").Holding().Kinds[quota.Requests]
		}
		if got := kept(); granted(out) == "none" || got < int64(len(params)) {
			t.Errorf("granted %s, and %d bytes count of %d", granted(out), got, len(params))
		}
		before := kept()
		r.Break("server_sup/"+c.peer().Row(), "*session.Deliver")
		if hit := c.ask("tools/list", ""); hit.Word() != int64(-32603) {
			t.Errorf("the request that it crashed on: %v", hit.All())
		}
		r.Struck()
		if got := kept(); got != before {
			t.Errorf("%d bytes count after a crash, want %d", got, before)
		}
		c.leave(out)
		if got := kept(); got != 0 {
			t.Errorf("%d bytes count when nobody listens any more", got)
		}
	})
}
