package session_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/gateway/quota"
	"mcpd/internal/fault"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

// Sessions are charged to their tenant, including the declarations of their clients, until they
// have ended. A crash of the manager changes nothing.
func TestSessionsAreCounted(t *testing.T) {
	run(t, func(r *rig) {
		caps, err := protocol.ParseClientCapabilities(jsontext.Value(`{"experimental":{"x":"` +
			strings.Repeat("x", 1000) + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		first, second := r.open(), r.open()
		uri := session.Subscription{Server: "files", URI: "file:///a", Own: "file:///a"}
		first.Store(&session.Record{
			Version: protocol.V20251125, Capabilities: caps, URIs: []session.Subscription{uri},
		})
		said := len(caps.Raw()) + len(uri.Server+uri.URI+uri.Own)
		said += 2 * len(protocol.Implementation{}.Raw())
		want := int64(2*session.OverheadBytes + said)
		if got := r.kept.Account("acme").Holding(); got.Kinds[quota.Sessions] < want ||
			got.Kinds[quota.Sessions] != got.Kept || got.Kept > want+100 {
			t.Errorf("%d bytes count, want %d and some for what was not said", got.Kept, want)
		}
		before := r.kept.Account("acme").Total()
		f := fault.Fault{
			Action: fault.Panic, Point: fault.Point{Path: "top/manager"}, Count: 1, Lease: time.Minute,
		}
		if _, err := r.faults.Arm(f); err != nil {
			t.Fatal(err)
		}
		_ = r.ref.Send(struct{}{})
		synctest.Wait()
		if got := r.kept.Account("acme").Total(); got != before {
			t.Errorf("%d bytes count after a crash, want %d", got, before)
		}
		for _, h := range []*session.Handle{first, second} {
			h.Close(r.t.Context())
		}
		synctest.Wait()
		if got := r.kept.Account("acme").Total(); got != 0 {
			t.Errorf("%d bytes count for sessions that have ended", got)
		}
		first.Store(&session.Record{Version: protocol.V20251125, Capabilities: caps})
		if got := r.kept.Account("acme").Total(); got != 0 {
			t.Errorf("%d bytes count for what a session that has ended stores", got)
		}
	})
}

// When the tenant may keep no more, the longest idle session of a principal is evicted for the
// principal's next session. No other session is, and none for a client without a session. If there
// is none to evict, the client is told what fills the tenant's share.
func TestSessionNeedsRoom(t *testing.T) {
	run(t, func(r *rig) {
		opens := func(principal string, peer *session.Peer) error {
			ep := streamable.Endpoint{Tenant: "acme", Principal: principal}
			_, err := otp.Do[session.OpenRequest, *session.Handle](r.t.Context(), r.ref, session.OpenRequest{
				Endpoint: ep, Peer: peer,
			})
			return err
		}
		idle := r.open()
		account := r.kept.Account("acme")
		r.kept.Bound(quota.Bounds{Tenants: 1, Total: 2*session.OverheadBytes + 1000})
		for name, err := range map[string]error{
			"another principal": whenFull(account, func() error { return opens("cd", nil) }),
			"a client without session": whenFull(account, func() error {
				return opens("ci", &session.Peer{Version: protocol.V20260728})
			}),
		} {
			if err == nil || !strings.Contains(err.Error(), "tenant acme is overloaded") || !r.there(idle) {
				t.Errorf("%s: %v, and the idle session is there %t", name, err, r.there(idle))
			}
		}
		rest := account.Count(quota.Requests, 2*session.OverheadBytes)
		next := r.open()
		if r.there(idle) || !r.there(next) {
			t.Errorf("the idle one is there %t, the next %t", r.there(idle), r.there(next))
		}
		next.Calls().Add(&request.Exchange{ID: 1})
		_, err := otp.Do[session.OpenRequest, *session.Handle](r.t.Context(), r.ref, session.OpenRequest{
			Endpoint: streamable.Endpoint{Tenant: "acme", Principal: "ci"},
		})
		if err == nil || !strings.Contains(err.Error(), "tenant acme is overloaded: acme keeps") {
			t.Errorf("without room: %v", err)
		}
		rest.Release()
		r.open()
	})
}

// whenFull calls do while the tenant keeps all that it may.
func whenFull(account *quota.Account, do func() error) error {
	r := account.Count(quota.Requests, 3*session.OverheadBytes)
	defer r.Release()
	return do()
}
