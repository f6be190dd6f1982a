package catalog_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
)

// viewed is the number of bytes charged for views.
func (r *rig) viewed() int { return int(r.kept.Account("acme").Holding().Kinds[quota.ClientLists]) }

func (r *rig) mustLook(principal string) view {
	r.T.Helper()
	v := <-r.looks(r.caller(principal, ""))
	if v.err != nil {
		r.T.Fatal(v.err)
	}
	return v
}

// titled is a tool of which older revisions show less.
var titled = jsontext.Value(`{"name":"write","title":"` + strings.Repeat("x", 1000) +
	`","inputSchema":{"type":"object"}}`)

// Views are charged to their tenant, with their lists for a revision, until they are dropped:
// because the lists have changed, after a crash, or at the end.
func TestViewsAreCounted(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		r.reports(files, report{state: client.Ready, items: []jsontext.Value{titled}})
		r.WaitIdle()
		const least = 100 // bytes for unchanged parts
		if got := r.viewed(); got > least {
			t.Errorf("%d bytes count once the lists have changed", got)
		}
		first := r.mustLook("ci")
		alone := r.viewed()
		if alone <= 0 || alone < first.Size() {
			t.Errorf("%d bytes count for a view of %d", alone, first.Size())
		}
		if r.mustLook("ci"); r.viewed() != alone {
			t.Errorf("%d bytes count for a view that is shown again", r.viewed())
		}
		if first.Listed(merge.Tools, protocol.V20241105, "", ""); r.viewed() != alone {
			t.Errorf("%d bytes count once a revision has been shown a page", r.viewed())
		}
		r.mustLook("cd")
		r.WaitIdle() // the servers that its look started have reported
		if r.mustLook("cd"); r.viewed() < alone {
			t.Errorf("%d bytes count with another view", r.viewed())
		}
		both := r.viewed()

		r.Break("catalog", "")
		looked := <-r.looks(r.caller("ci", "")) // crashes it, unless another message does
		r.Struck()
		if looked.err != nil && first.Handle().View() == nil {
			t.Error("whoever has the view of before the crash has lost it")
		}
		if r.mustLook("ci"); first.Handle().View() != nil {
			t.Error("the view of before the crash is kept beside another")
		}
		r.mustLook("cd")
		r.WaitIdle()
		if r.mustLook("cd"); r.viewed() != both {
			t.Errorf("%d bytes count after a crash and another look, want %d", r.viewed(), both)
		}
		r.reload(func([]tenant.Server) []tenant.Server { return nil })
		if got := r.viewed(); got != 0 {
			t.Errorf("%d bytes count when there are no servers", got)
		}
	})
}

// A view for which there is no room replaces the others.
func TestViewsWithoutRoom(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		r.reports(files, report{state: client.Ready, items: []jsontext.Value{titled}})
		r.WaitIdle()
		r.mustLook("ci")
		room := int64(r.kept.Account("acme").Total()) + 10
		r.kept.Account("other").Add(quota.Requests, int(3*room)) // its share, and all of the free part
		r.kept.Bound(quota.Bounds{Tenants: 2, Total: 4 * room})
		if other := r.mustLook("cd"); r.viewed() != other.Size() {
			t.Errorf("%d bytes count with another view in place of the first, want %d", r.viewed(),
				other.Size())
		}
	})
}

// Views are dropped when a call needs their room.
func TestViewsMakeRoomForCalls(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		r.reports(files, report{state: client.Ready, items: []jsontext.Value{titled}})
		r.WaitIdle()
		handle := r.mustLook("ci").Handle()
		if handle.View() == nil {
			t.Error("the view is not kept")
		}
		a, viewed := r.kept.Account("acme"), r.viewed()
		room := a.Total() + 10
		r.kept.Account("other").Add(quota.Requests, int(3*room))
		r.kept.Bound(quota.Bounds{Tenants: 2, Total: 4 * room})
		if _, full := a.Reserve(quota.Requests, viewed); full != nil {
			t.Errorf("a call is refused: %s", full.ClientError().Message)
		}
		if handle.View() != nil || r.viewed() != 0 {
			t.Errorf("%d bytes of views are kept", r.viewed())
		}
		r.mustLook("ci")
	})
}

// A server's description of itself is charged, both with its listing and for its connection.
func TestFactsAreCounted(t *testing.T) {
	run(t, func(r *rig) {
		r.ready()
		listed := func() int64 {
			r.WaitIdle()
			return r.kept.Account("acme").Holding().Kinds[quota.Lists]
		}
		before := listed()
		caps := `{"tools":{"listChanged":true},"experimental":{"x":{"y":"` +
			strings.Repeat("x", 10000) + `"}}}`
		r.reports(files, report{state: client.Ready, caps: caps})
		if got := listed(); got < before+2*10000 { // the listing, and the connection
			t.Errorf("%d bytes count, %d before", got, before)
		}
		r.reports(files, report{state: client.Ready})
		if got := listed(); got > before {
			t.Errorf("%d bytes count when it says less again, %d before", got, before)
		}
	})
}
