package catalog_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/capability"
	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
)

// The first list waits for servers that are starting, for no longer than they take.
func TestFirstListWaitsForServersThatAreStarting(t *testing.T) {
	run(t, func(r *rig) {
		start := time.Now()
		answer := r.looks(r.caller("ci", ""))
		time.Sleep(3 * time.Second)
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		if len(answer) != 0 {
			t.Error("answered before the second server was ready")
		}
		time.Sleep(time.Second)
		r.reports(search, report{state: client.Ready, tools: []string{"find"}})
		v := <-answer
		if v.err != nil || len(v.Servers) != 2 || len(v.Missing) != 0 ||
			v.at.Sub(start) != 4*time.Second {
			t.Errorf("got %+v, %v after %v", v.View, v.err, v.at.Sub(start))
		}
		if v := <-r.looks(r.caller("ci", "")); v.at.Sub(start) != 4*time.Second {
			t.Errorf("the next list waited until %v", v.at.Sub(start))
		}
		if got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log); len(got) != 0 {
			t.Errorf("announced %v to somebody who has just been told", got)
		}
	})
}

// S4-5: a server that never answers delays the first list by at most ListWait, and no other list.
// Clients are told of its tools when it has listed them.
func TestServerThatNeverAnswersIsMissing(t *testing.T) {
	run(t, func(r *rig) {
		start := time.Now()
		answer := r.looks(r.caller("ci", ""))
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		v := <-answer
		if v.err != nil || !slices.Equal(v.Missing, []string{"search"}) || len(v.Servers) != 1 ||
			v.at.Sub(start) != 10*time.Second {
			t.Errorf("got %+v, %v after %v", v.View, v.err, v.at.Sub(start))
		}
		if v := <-r.looks(r.caller("ci", "")); v.at.Sub(start) != 10*time.Second || len(v.Missing) != 1 {
			t.Errorf("the next list: missing %v at %v", v.Missing, v.at.Sub(start))
		}
		r.reports(search, report{state: client.Ready, tools: []string{"find"}})
		got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log)
		if len(got) != 1 || got[0].Server != "search" ||
			got[0].Method != "notifications/tools/list_changed" {
			t.Errorf("announced %v", got)
		}
		if v := <-r.looks(r.caller("ci", "")); len(v.Missing) != 0 {
			t.Errorf("missing %v", v.Missing)
		}
	})
}

// F17: no caller waits for a server that has already failed. A caller at that server's endpoint is
// told the reason.
func TestFailedServerIsNotWaitedFor(t *testing.T) {
	run(t, func(r *rig) {
		start := time.Now()
		all, one := r.looks(r.caller("ci", "")), r.looks(r.caller("ci", "search"))
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		r.reports(search, report{state: client.Backoff, cause: errDisk})
		if v := <-all; v.err != nil || !slices.Equal(v.Missing, []string{"search"}) || v.at != start {
			t.Errorf("all: %+v, %v after %v", v.View, v.err, v.at.Sub(start))
		}
		if v := <-one; !errors.Is(v.err, protocol.ConditionUpstreamLost) ||
			!strings.Contains(v.err.Error(), "the disk is full") {
			t.Errorf("one: %v", v.err)
		}
		if v := <-r.looks(r.caller("ci", "nothing")); !errors.Is(v.err,
			protocol.ConditionEndpointNotFound) {
			t.Errorf("no such server: %v", v.err)
		}
	})
}

// The number of waiting callers is bounded.
func TestWaitingListsAreBounded(t *testing.T) {
	run(t, func(r *rig) {
		answers := make([]<-chan view, catalog.MaxWaiting)
		for i := range answers {
			answers[i] = r.looks(r.caller("ci", ""))
		}
		if v := <-r.looks(r.caller("ci", "")); !errors.Is(v.err, protocol.ConditionOverloaded) {
			t.Errorf("one too many: %v", v.err)
		}
		r.reports(files, report{state: client.Ready})
		r.reports(search, report{state: client.Ready})
		for _, a := range answers {
			if v := <-a; v.err != nil {
				t.Fatal(v.err)
			}
		}
	})
}

// S1-9, S1-14, F36: clients are told once of a change in the lists that they were given. They are
// not told of equal lists, nor of lists that no client was given. Announcements of the server
// itself are always passed on. Resources and their templates are announced together.
func TestChangesAreAnnouncedToWhoWasServed(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		announced := func() int { return len(testrig.Of[*notification.Dispatch](&r.dispatcher.Log)) }
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		if got := announced(); got != 0 {
			t.Errorf("the same list: announced %d", got)
		}
		before := <-r.looks(r.caller("ci", ""))
		r.reports(files, report{state: client.Ready, tools: []string{"read", "write"}})
		if got := announced(); got != 1 {
			t.Errorf("another list: announced %d", got)
		}
		after := <-r.looks(r.caller("ci", ""))
		if before.View == after.View || len(after.Servers) != 2 {
			t.Error("the view is the same")
		}
		same := report{
			state: client.Ready, tools: []string{"read", "write"},
			told: []merge.Kind{merge.Tools, merge.Resources, merge.Templates},
		}
		r.reports(files, same)
		if got := announced(); got != 3 {
			t.Errorf("the server announced two: announced %d", got-1)
		}
		if again := <-r.looks(r.caller("ci", "")); again.View != after.View {
			t.Error("the view is another, though nothing has changed")
		}
	})
}

// Callers that share a connection get the same one; others get their own. Nobody gets a connection
// to a server that does not exist.
func TestConnectionsAreShared(t *testing.T) {
	run(t, func(r *rig) {
		get := func(principal, server string) string {
			t.Helper()
			ref, err := r.connects(r.caller(principal, ""), server)
			if err != nil || !ref.Alive() {
				t.Errorf("%s to %s: %v", principal, server, err)
			}
			return ref.Path()
		}
		if a, b := get("ci", "files"), get("dev", "files"); a != b {
			t.Errorf("by tenant: %s and %s", a, b)
		}
		if a, b := get("ci", "search"), get("dev", "search"); a == b || a != get("ci", "search") {
			t.Errorf("by principal: %s and %s", a, b)
		}
		if _, err := r.connects(r.caller("ci", ""), "nothing"); !errors.Is(err,
			protocol.ConditionEndpointNotFound) {
			t.Errorf("no such server: %v", err)
		}
		if got := r.record("search").Open; got != 2 {
			t.Errorf("%d connections", got)
		}
	})
}

// A session's own connection is opened by its first call. The lists that it sees come from its
// principal's connection.
func TestListsOfAPrivateServerAreThePrincipals(t *testing.T) {
	caller := catalog.Caller{Session: "s", Principal: "ci"}
	server := tenant.Server{Name: "x", Command: tenant.NewSecret("x"), Share: tenant.BySession}
	if call, list := catalog.Key(server, caller), catalog.ListKey(server,
		caller); call.Share != tenant.BySession || list.Share != tenant.ByPrincipal {
		t.Errorf("calls by %v, lists by %v", call, list)
	}
}

// A view is made once, and again when its contents have changed: not when another principal's
// server was listed, nor when the registry learnt a server's declaration.
func TestViewStaysWhileWhatItShowsDoes(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		see := func(principal string) *catalog.View {
			v := <-r.looks(r.caller(principal, ""))
			if v.err != nil {
				r.T.Fatal(v.err)
			}
			return v.View
		}
		before := see("ci")
		answer := r.looks(r.caller("bob", ""))
		r.reports("search/principal=bob", report{state: client.Ready, tools: []string{"find", "keep"}})
		<-answer
		r.Send("registry", &capability.Declared{
			Tenant: "other", Server: "s", Capabilities: jsontext.Value(`{"tools":{}}`),
		})
		if see("ci") != before {
			t.Error("made anew though nothing in it has changed")
		}
		r.reports(files, report{state: client.Ready, tools: []string{"write"}})
		if see("ci") == before || see("bob") == before {
			t.Error("not made anew though a shared server has changed")
		}
	})
}

// Header fields are checked by the schema that the client sees. That is a modern server's own
// schema. The annotation means nothing in a legacy server's schema, nor in a schema of the
// aggregate's list.
func TestMirrorsAreThoseThatClientsSee(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		items := []jsontext.Value{
			jsontext.Value(`{"name":"find","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}`),
		}
		for _, test := range []struct {
			speaks       protocol.Version
			server, tool string
			want         int
		}{
			{protocol.V20251125, "files", "find", 0},
			{protocol.Latest, "files", "find", 1},
			{protocol.Latest, "files", "files__find", 0},
			{protocol.Latest, "", "files__find", 0},
			{protocol.Latest, "", "find", 0},
		} {
			r.reports(files, report{
				state: client.Ready, items: items, speak: test.speaks,
				caps: fmt.Sprintf(`{"tools":{"for":%q}}`, test.speaks),
			})
			v := <-r.looks(r.caller("ci", test.server))
			if v.err != nil {
				t.Fatal(v.err)
			}
			if got := len(v.Mirrors(test.tool)); got != test.want {
				t.Errorf("server of %s, endpoint %q: %d arguments of %s are mirrored, want %d", test.speaks,
					test.server, got, test.tool, test.want)
			}
		}
	})
}

// It may turn out only after a server is ready which notifications it can send. A client that looks
// then is offered no more than that.
func TestOfferFollowsWhatAServerDeclares(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		offer := func(caps, server string) protocol.ServerCapabilities {
			r.reports(files, report{state: client.Ready, tools: []string{"read"}, caps: caps})
			v := <-r.looks(r.caller("ci", server))
			if v.err != nil {
				t.Fatal(v.err)
			}
			return v.Offer(protocol.Latest)
		}
		for _, server := range []string{"files", ""} {
			if got := offer(`{"tools":{"listChanged":true},"resources":{"subscribe":true}}`,
				server); !got.Has("resources.subscribe") {
				t.Fatalf("endpoint %q: offered %s", server, got.Raw())
			}
			got := offer(`{"tools":{},"resources":{}}`, server)
			// the aggregate's list is the host's own
			if got.Has("resources.subscribe") || got.Has("tools.listChanged") != (server == "") {
				t.Errorf("endpoint %q: offered %s", server, got.Raw())
			}
		}
	})
}
