package session_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

// openAs opens a session that has completed its handshake.
func (a *actors) openAs(tenant, principal string) (*session.Handle, error) {
	ep := streamable.Endpoint{Tenant: tenant, Principal: principal}
	h, err := otp.Do[session.OpenRequest, *session.Handle](a.T.Context(), a.Ref("manager"),
		session.OpenRequest{Endpoint: ep})
	if err == nil {
		h.Store(&session.Record{Version: protocol.V20251125})
	}
	return h, err
}

// several opens n sessions.
func (a *actors) several(n int, tenant, principal string) (all []*session.Handle) {
	a.T.Helper()
	for i := range n {
		h, err := a.openAs(tenant, principal)
		if err != nil {
			a.T.Fatalf("number %d of %s: %v", i, tenant, err)
		}
		all = append(all, h)
		time.Sleep(time.Millisecond)
	}
	return all
}

// work gives each session a call in flight.
func work(all []*session.Handle) (calls []*request.Exchange) {
	for i, h := range all {
		x := &request.Exchange{ID: uint64(i + 1), Owner: h, Sink: &testrig.Sink{}}
		h.Calls().Add(x)
		calls = append(calls, x)
	}
	return calls
}

func closed(all []*session.Handle) (n int) {
	for _, h := range all {
		if h.Closed() {
			n++
		}
	}
	return n
}

// full checks that a refusal names the bound, its holder and the time to retry.
func full(t *testing.T, err error, status int, texts ...string) {
	t.Helper()
	var e *protocol.Error
	if !errors.As(err, &e) || e.RetryAfter <= 0 ||
		e.Condition.Status(protocol.V20251125, false) != status {
		t.Errorf("got %v, want %d and when to come back", err, status)
		return
	}
	for _, word := range texts {
		if !strings.Contains(e.Message+string(e.Data), word) {
			t.Errorf("%q with %s does not say %q", e.Message, e.Data, word)
		}
	}
	if strings.Contains(e.Message, "overloaded") {
		t.Errorf("nothing is overloaded: %q", e.Message)
	}
}

// A tenant that holds all that it can, with calls in flight, loses none of its sessions to others,
// and a tenant below its share is still served. Its idle sessions are evicted for others.
func TestTenantsShareTheSessionsOfTheHost(t *testing.T) {
	a := &actors{index: session.NewIndex(nil), limit: 100, total: 12, tenants: 3}
	a.perform(t, func(a *actors) {
		hoard := a.several(8, "acme", "ci")
		calls := work(hoard)
		_, err := a.openAs("acme", "ci")
		full(t, err, 503, "tenant acme has 8 sessions", "max_total_sessions is 2",
			`"limit":"max_total_sessions","tenant":"acme"`)
		initech := a.several(2, "initech", "ci")
		work(initech)
		_, err = a.openAs("initech", "ci")
		full(t, err, 503, "tenant initech has 2 sessions", "max_total_sessions")
		a.several(2, "umbrella", "ci")
		if closed(hoard)+closed(initech) != 0 || a.index.Len() != 12 {
			t.Errorf("%d and %d sessions were ended for others, %d are there", closed(hoard),
				closed(initech), a.index.Len())
		}
		calls[3].Settle(request.Outcome{})
		time.Sleep(time.Second)
		initech = append(initech, a.several(1, "initech", "ci")...)
		if !hoard[3].Closed() || closed(hoard) != 1 || closed(initech) != 0 {
			t.Errorf("the idle one of who is furthest above its share: %t; %d in all", hoard[3].Closed(),
				closed(hoard))
		}
	})
}

// If a tenant or a key has its whole share, and busy sessions of another holder use up the free
// part, its own longest idle session is evicted. While the holder may have more sessions, that
// session stays.
func TestOwnIdleSessionMakesRoomAtTheShare(t *testing.T) {
	a := &actors{index: session.NewIndex(nil), limit: 100, total: 12, tenants: 3}
	a.perform(t, func(a *actors) {
		initech := a.several(2, "initech", "ci")
		work(a.several(8, "acme", "ci"))
		umbrella := a.several(1, "umbrella", "ci")
		initech = append(initech, a.several(1, "initech", "ci")...)
		if !initech[0].Closed() || closed(initech) != 1 {
			t.Errorf("%d of the tenant's sessions ended, the longest idle %t", closed(initech),
				initech[0].Closed())
		}
		if a.several(1, "umbrella", "ci"); closed(umbrella) != 0 {
			t.Error("a tenant below its share has lost a session of its own")
		}
	})
}

// At the bound of a tenant no busy session is ended, and the refusal says whose bound it is. As
// soon as a session is idle it can be evicted.
func TestBusySessionsStay(t *testing.T) {
	calls := map[*session.Handle]*request.Exchange{}
	for name, busy := range map[string]struct {
		begin, end func(h *session.Handle)
	}{
		"call": {
			func(h *session.Handle) { calls[h] = work([]*session.Handle{h})[0] },
			func(h *session.Handle) { calls[h].Settle(request.Outcome{}) },
		},
		"request not passed on": {func(h *session.Handle) {
			h.AddWaiting(1)
		}, func(h *session.Handle) { h.AddWaiting(-1) }},
		"subscription": {func(h *session.Handle) {
			h.SetListens(1)
		}, func(h *session.Handle) { h.SetListens(0) }},
		"question": {
			func(h *session.Handle) { h.Questions().Open(jsonrpc.IntID(1), func() {}) },
			func(h *session.Handle) { h.Questions().Close(jsonrpc.IntID(1)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			perform(t, 3, func(a *actors) {
				all := a.several(3, "acme", "ci")
				for _, h := range all {
					busy.begin(h)
				}
				_, err := a.openAs("acme", "ci")
				full(t, err, 503, "tenant acme has 3 sessions", `"limit":"max_sessions","tenant":"acme"`)
				busy.end(all[1])
				time.Sleep(time.Second)
				if _, err := a.openAs("acme", "ci"); err != nil || closed(all) != 1 || !all[1].Closed() {
					t.Errorf("with one idle: %v, %d ended", err, closed(all))
				}
			})
		})
	}
}

// A session that is being opened is not evicted, because its initialize is work in flight.
func TestHandshakeIsWork(t *testing.T) {
	perform(t, 1, func(a *actors) {
		a.slow = make(chan struct{})
		first := make(chan error, 1)
		go func() { // it ends with its call
			_, err := a.open()
			first <- err
		}()
		a.WaitIdle()
		_, err := a.openAs("acme", "ci")
		full(t, err, 503, "tenant acme has 1 sessions")
		close(a.slow)
		if err := <-first; err != nil {
			t.Errorf("the first: %v", err)
		}
	})
}

// If a tenant has several keys, each has its share of the tenant's bound. The first to be evicted
// are idle sessions of the key that is furthest above its share.
func TestPrincipalsShareTheSessionsOfTheirTenant(t *testing.T) {
	a := &actors{index: session.NewIndex(nil), limit: 12, total: 100, tenants: 1, principals: 3}
	a.perform(t, func(a *actors) {
		hoard := a.several(8, "acme", "ann")
		calls := work(hoard)
		_, err := a.openAs("acme", "ann")
		full(t, err, 429, "ann has 8 sessions at tenant acme",
			`"limit":"max_principal_sessions","tenant":"acme","principal":"ann"`)
		others := append(a.several(2, "acme", "bob"), a.several(2, "acme", "eve")...)
		if closed(hoard)+closed(others) != 0 {
			t.Errorf("%d and %d sessions were ended for others", closed(hoard), closed(others))
		}
		for _, x := range calls {
			x.Settle(request.Outcome{})
		}
		time.Sleep(time.Second)
		more := a.several(2, "acme", "bob")
		if closed(hoard) != 2 || closed(others)+closed(more) != 0 {
			t.Errorf("%d of who has most and %d others have made room", closed(hoard),
				closed(others)+closed(more))
		}
		if a.several(3, "acme", "ann"); closed(others)+closed(more) != 0 {
			t.Error("who has less made room for who has more")
		}
	})
}

// At the configured bound of a principal its own longest idle session is evicted, and no session of
// another principal. A busy session is never evicted: then the refusal names the bound and its
// holder.
func TestPrincipalAtItsBoundMakesRoomForItself(t *testing.T) {
	a := &actors{
		index: session.NewIndex(nil), limit: 10, total: 100, tenants: 1, principals: 2, each: 3,
	}
	a.perform(t, func(a *actors) {
		other := a.several(2, "acme", "bob")
		own := a.several(3, "acme", "ann")
		own[0].Touch()
		work(own[1:2])
		a.several(1, "acme", "ann")
		if closed(own) != 1 || !own[2].Closed() || closed(other) != 0 {
			t.Errorf("the longest idle: %t; %d of its own and %d of others made room", own[2].Closed(),
				closed(own), closed(other))
		}
		work(own[:1])
		next := a.several(2, "acme", "ann")
		work(next[1:])
		_, err := a.openAs("acme", "ann")
		full(t, err, 429, "ann has 3 sessions at tenant acme", "each has a call in flight",
			`"limit":"max_principal_sessions","tenant":"acme","principal":"ann"`)
		if closed(own) != 1 || closed(next) != 1 || closed(other) != 0 {
			t.Errorf("%d, %d and %d sessions made room", closed(own), closed(next), closed(other))
		}
		if _, err := a.openAs("acme", "bob"); err != nil {
			t.Errorf("another principal: %v", err)
		}
	})
}

// A request that its session's actor has not looked at yet is work in flight, and so is a request
// that waits behind it.
func TestRequestKeepsItsSession(t *testing.T) {
	perform(t, 1, func(a *actors) {
		h := a.ready()
		first, _ := a.deliver(h, "hold")
		second, _ := a.deliver(h, "ping")
		_, err := a.openAs("acme", "ci")
		full(t, err, 503, "tenant acme has 1 sessions")
		close(a.hold) // it crashes, and the next actor answers the waiting request
		if len(first.All()) != 1 || second.Word() != "result" || h.Closed() {
			t.Errorf("got %v and %v", first.All(), second.All())
		}
		time.Sleep(time.Second)
		if _, err := a.openAs("acme", "ci"); err != nil || !h.Closed() {
			t.Errorf("with all answered: %v", err)
		}
	})
}
