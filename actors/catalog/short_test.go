package catalog_test

import (
	"slices"
	"testing"
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// A list that a server has not delivered yet does not replace its earlier list. If the server fails
// to deliver the list, the earlier one is shown and marked.
func TestListThatIsAwaitedLeavesTheOneBefore(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		for _, state := range []client.Completeness{client.Waiting, client.Failed} {
			r.reports(files, report{
				state: client.Ready, short: client.Shortfall{State: state, Words: "tools/list: no"},
			})
			r.WaitIdle()
			v := r.mustLook("ci")
			if got := len(v.List(merge.Tools).Items()); got != 2 {
				t.Errorf("%d tools are shown, want those of before", got)
			}
		}
		if got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log); len(got) != 0 {
			t.Errorf("announced %v", got)
		}
	})
}

// A list that a host never got, or that a bound has shortened, is not used as the answer of its
// server: not by that host, and not by the next.
func TestShortListsDoNotStandForTheirServer(t *testing.T) {
	for state, tools := range map[client.Completeness][]string{client.Waiting: nil, client.Failed: nil,
		client.Shortened: {"read"}, client.Complete: {"read"}} {
		first := &rig{}
		see := func(r *rig) *view {
			v := <-r.look(lookAlone(r))
			if v.err != nil {
				t.Fatal(v.err)
			}
			return &v
		}
		first.run(t, func(r *rig) {
			answer := r.looks(r.caller("ci", ""))
			r.reports(files, report{
				state: client.Ready, caps: `{"tools":{},"prompts":{}}`, tools: tools,
				short: client.Shortfall{State: state, Words: "why"},
			})
			r.reports(search, report{state: client.Ready})
			time.Sleep(time.Minute)
			<-answer
			if v := see(r); v.KnowsList(merge.Tools) != (state == client.Complete) || !v.Reachable {
				t.Errorf("state %d: stands %v, answers %v", state, v.KnowsList(merge.Tools), v.Reachable)
			}
			first.stored, _ = r.written()
		})
		next := &rig{stored: first.stored}
		next.run(t, func(r *rig) {
			if v := see(r); v.KnowsList(merge.Tools) != (state == client.Complete) || v.Reachable ||
				!v.KnowsList(merge.Prompts) {
				t.Errorf("state %d, in the next host: stands %v, answers %v", state,
					v.KnowsList(merge.Tools), v.Reachable)
			}
		})
	}
}

// The lists of a server that does not run may change when it starts. So listChanged is declared,
// but only for lists that the server has.
func TestProvisionalListsDeclareThatTheyChange(t *testing.T) {
	first := &rig{}
	first.run(t, func(r *rig) {
		answer := r.looks(r.caller("ci", ""))
		r.reports(files, report{state: client.Ready, caps: `{"tools":{}}`})
		r.reports(search, report{state: client.Ready})
		<-answer
		if v := <-r.look(lookAlone(r)); v.Offer(protocol.V20251125).Has("tools.listChanged") {
			t.Error("declared for a server that runs and has not declared it")
		}
		first.stored, _ = r.written()
	})
	next := &rig{stored: first.stored}
	next.run(t, func(r *rig) {
		v := <-r.look(lookAlone(r))
		if v.ListUnknown(merge.Tools) || !v.ListUnknown(merge.Prompts) {
			t.Error("a list that is not declared is taken for known, or one that is for unknown")
		}
		offer := v.Offer(protocol.V20251125)
		if !offer.Has("tools.listChanged") || offer.Has("prompts") {
			t.Errorf("declared for one that does not run: %s", offer.Raw())
		}
	})
}

// lookAlone looks at "files" on its transparent endpoint.
func lookAlone(r *rig) catalog.LookRequest {
	return catalog.LookRequest{Caller: r.caller("ci", "files")}
}

// A plain URI, without a server's name, never changes its owner. While a server has not listed its
// resources, or cannot, the resources of the servers behind it are listed under URIs with their
// server's name.
func TestServerThatCannotListMayOwnURIs(t *testing.T) {
	const caps = `{"resources":{"listChanged":true}}`
	for _, state := range []client.Completeness{client.Waiting, client.Failed} {
		run(t, func(r *rig) {
			uris := func() (all []string) {
				for _, item := range r.mustLook("ci").List(merge.Resources).Items() {
					uri, _ := jsonedit.GetString(item, "uri")
					all = append(all, uri)
				}
				return all
			}
			first := r.looks(r.caller("ci", ""))
			shortfall := client.Shortfall{State: state, Words: "resources/list: no"}
			r.reports(files, report{state: client.Ready, caps: caps, owes: shortfall})
			r.reports(search, report{state: client.Ready, caps: caps, uris: []string{"x:1"}})
			time.Sleep(time.Minute)
			<-first
			if got, want := uris(), []string{"mcpd://search/x%3A1"}; !slices.Equal(got, want) {
				t.Errorf("state %d: listed %q, want %q", state, got, want)
			}
			r.reports(files, report{state: client.Ready, caps: caps, owes: shortfall}) // it fails again
			r.WaitIdle()
			if got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log); len(got) != 0 {
				t.Errorf("state %d: announced %v", state, got)
			}
			r.reports(files, report{state: client.Ready, caps: caps, uris: []string{"x:1"}})
			r.WaitIdle()
			if got, want := uris(), []string{"x:1", "mcpd://search/x%3A1"}; !slices.Equal(got, want) {
				t.Errorf("state %d: listed then %q, want %q", state, got, want)
			}
			if got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log); len(got) == 0 {
				t.Errorf("state %d: nothing is announced", state)
			}
		})
	}
}

// A quarantined server does not reserve URIs from the servers behind it, whether it has never
// listed its resources or cannot. Clients are told when that begins and ends.
func TestQuarantinedServerKeepsNoURIs(t *testing.T) {
	const caps, under, plain = `{"resources":{"listChanged":true}}`, "mcpd://search/x%3A1", "x:1"
	for _, state := range []client.State{client.Starting, client.Ready} {
		run(t, func(r *rig) {
			changed := func(want string) {
				t.Helper()
				time.Sleep(time.Minute)
				if got := r.uris("ci"); !slices.Equal(got, []string{want}) {
					t.Errorf("%v: listed %q, want %q", state, got, want)
				}
				if _, all := r.announced(); !slices.Contains(all, "notifications/resources/list_changed") {
					t.Errorf("%v: nothing is announced when %s is listed", state, want)
				}
				r.dispatcher.Forget()
			}
			first := r.looks(r.caller("ci", ""))
			r.reports(search, report{state: client.Ready, caps: caps, uris: []string{plain}})
			shortfall := client.Shortfall{State: client.Failed, Words: "resources/list: no"}
			r.reports(files, report{state: state, caps: caps, owes: shortfall})
			<-first
			time.Sleep(time.Minute)
			r.dispatcher.Forget()
			if got := r.uris("ci"); !slices.Equal(got, []string{under}) {
				t.Errorf("%v: listed %q, want %q", state, got, under)
			}
			r.operates(catalog.Quarantine)
			changed(plain)
			r.operates(catalog.Release)
			changed(under)
		})
	}
}

// uris are the resource URIs that a principal sees.
func (r *rig) uris(principal string) (all []string) {
	r.T.Helper()
	for _, item := range r.mustLook(principal).List(merge.Resources).Items() {
		uri, _ := jsonedit.GetString(item, "uri")
		all = append(all, uri)
	}
	return all
}
