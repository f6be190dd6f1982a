package session_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

func peerOf(capabilities string) session.Peer {
	c, err := protocol.ParseClientCapabilities(jsontext.Value(capabilities))
	if err != nil {
		panic(err)
	}
	return session.Peer{Version: protocol.V20260728, Capabilities: c}
}

// peer finds or makes the session of a peer, as the transport does.
func (a *actors) peer(ep streamable.Endpoint, p session.Peer) (*session.Handle, error) {
	if h, ok := a.index.Peer(ep, p); ok && h.Serving() {
		h.Touch()
		return h, nil
	}
	return otp.Do[session.OpenRequest, *session.Handle](a.T.Context(), a.Ref("manager"),
		session.OpenRequest{Endpoint: ep, Peer: &p})
}

func (a *actors) known(ep streamable.Endpoint, p session.Peer) *session.Handle {
	a.T.Helper()
	h, err := a.peer(ep, p)
	if err != nil {
		a.T.Fatal(err)
	}
	return h
}

var here = streamable.Endpoint{Tenant: "acme", Principal: "ci"}

// There is one session for each combination of endpoint, principal, revision and set of
// capabilities, however many requests come at once. It needs no handshake, and its id is secret.
func TestPeerHasOneSession(t *testing.T) {
	perform(t, 10, func(a *actors) {
		var mu sync.Mutex
		all := map[*session.Handle]bool{}
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				h, err := a.peer(here, peerOf(`{}`))
				mu.Lock()
				defer mu.Unlock()
				if all[h] = true; err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		h := a.known(here, peerOf(`{}`))
		if len(all) != 1 || !all[h] || a.index.Len() != 0 || a.index.Peers(here) != 1 ||
			a.starts.Load() != 1 {
			t.Errorf("%d handles, %d peers, %d sessions, %d actors", len(all), a.index.Peers(here),
				a.index.Len(), a.starts.Load())
		}
		if !h.IsPeer() || h.Version() != protocol.V20260728 || h.Record() == nil || !h.Record().Ready ||
			h.Endpoint() != here || h.Transport() != "streamable" {
			t.Errorf("the session is %+v", h.Record())
		}
		old := peerOf(`{}`)
		old.Version = protocol.V20251125
		for _, other := range []struct {
			ep streamable.Endpoint
			p  session.Peer
		}{
			{streamable.Endpoint{Tenant: "acme", Principal: "else"}, peerOf(`{}`)},
			{streamable.Endpoint{Tenant: "other", Principal: "ci"}, peerOf(`{}`)},
			{streamable.Endpoint{Tenant: "acme", Principal: "ci", Server: "files"}, peerOf(`{}`)},
			{here, peerOf(`{"roots":{}}`)}, {here, old},
		} {
			got := a.known(other.ep, other.p)
			if all[got] || got.ID() == h.ID() {
				t.Errorf("%v has the session of another", other)
			}
			all[got] = true
		}
	})
}

// A peer that is idle is forgotten soon; one that has calls is not. Its session may end at any
// time, because the next request makes another.
func TestPeerIsForgotten(t *testing.T) {
	perform(t, 10, func(a *actors) {
		time.Sleep(time.Minute) // the manager has no session to look after
		idle, busy, kept := a.known(here, peerOf(`{}`)), a.known(here,
			peerOf(`{"roots":{}}`)), a.known(here, peerOf(`{"sampling":{}}`))
		x := &request.Exchange{ID: 1, Server: "files", Level: "info", Sink: &testrig.Sink{}}
		busy.Calls().Add(x)
		for range 3 {
			time.Sleep(session.PeerIdle - time.Second)
			kept.Touch()
		}
		if !idle.Closed() || busy.Closed() || kept.Closed() {
			t.Errorf("ended: idle %t, busy %t, used %t", idle.Closed(), busy.Closed(), kept.Closed())
		}
		if next := a.known(here, peerOf(`{}`)); next == idle || next.Closed() {
			t.Error("it is not made anew")
		}
		busy.Ended(x, false)
		time.Sleep(2 * session.PeerIdle)
		if !busy.Closed() {
			t.Error("its calls are over, and it is there")
		}
		if err := kept.Call(a.T.Context(), jsonrpc.Request(jsonrpc.IntID(1), "ping", nil), nil,
			&testrig.Sink{}); err == nil {
			t.Error("a session that has ended takes a call")
		}
	})
}

// peers makes n peers of a principal, each at a different server.
func (a *actors) peers(n int) (all []*session.Handle) {
	a.T.Helper()
	for i := range n {
		ep := here
		ep.Server = fmt.Sprintf("s%d", i)
		all = append(all, a.known(ep, peerOf(`{}`)))
	}
	return all
}

// Peers and sessions are counted separately, and neither is evicted for the other. At the bound, an
// idle peer of the same principal is evicted, but never one with work in flight. Another principal
// is not affected.
func TestPeersAreBounded(t *testing.T) {
	perform(t, 2, func(a *actors) {
		sessions := []*session.Handle{a.ready(), a.ready()}
		peers := a.peers(session.MaxPeers)
		if a.index.Len() != 2 || a.index.Tenant("acme") != 2 || a.index.Principal(here) != 2 ||
			a.index.Peers(here) != session.MaxPeers {
			t.Errorf("%d sessions and %d peers are counted", a.index.Len(), a.index.Peers(here))
		}
		for i, p := range peers {
			if i != 7 {
				p.Calls().Add(&request.Exchange{ID: uint64(i + 1), Sink: &testrig.Sink{}})
			}
		}
		next := a.known(here, peerOf(`{"roots":{}}`))
		a.WaitIdle()
		if !peers[7].Closed() || next.Closed() || a.index.Peers(here) != session.MaxPeers {
			t.Errorf("the idle one is there %t, %d peers", !peers[7].Closed(), a.index.Peers(here))
		}
		next.Calls().AddRetry(&testrig.Sink{}, 5)
		var full *protocol.Error
		if _, err := a.peer(here, peerOf(`{"sampling":{}}`)); !errors.As(err, &full) ||
			full.Condition != protocol.ConditionRateLimited || full.RetryAfter <= 0 {
			t.Errorf("with all at work: %v", err)
		}
		if _, err := a.peer(streamable.Endpoint{Tenant: "acme", Principal: "other"},
			peerOf(`{}`)); err != nil {
			t.Errorf("another principal: %v", err)
		}
		for i, p := range append(peers, sessions...) {
			if i != 7 && p.Closed() {
				t.Errorf("number %d has ended", i)
			}
		}
		next.Calls().RemoveRetry(nil)
		a.limit = 0
		if _, err := a.peer(streamable.Endpoint{Tenant: "none"}, peerOf(`{}`)); err == nil {
			t.Error("a tenant without room has a session")
		}
	})
}

// Peers are not distinguished by members without effect: experimental capabilities, settings,
// order.
func TestPeersAreToldApartByWhatMatters(t *testing.T) {
	perform(t, 2, func(a *actors) {
		first := a.known(here, peerOf(`{"roots":{},"elicitation":{}}`))
		for i := range 1000 {
			same := peerOf(
				fmt.Sprintf(
					`{"elicitation":{"form":{"x":%d}},"experimental":{"n%d":{}},"roots":{"listChanged":true}}`, i,
					i,
				),
			)
			if h := a.known(here, same); h != first {
				t.Fatalf("number %d has a peer of its own", i)
			}
		}
		meets := peerOf(`{"roots":{},"elicitation":{}}`)
		meets.Required = "experimental.x "
		if a.known(here, meets) == first || a.index.Peers(here) != 2 {
			t.Errorf("one that meets the policy is not told apart: %d peers", a.index.Peers(here))
		}
	})
}

// A failed start leaves nothing behind, and no request waits for it.
func TestPeerThatCannotBeStarted(t *testing.T) {
	perform(t, 10, func(a *actors) {
		top, _ := a.System.Whereis("top")
		if err := otp.TerminateChild(a.T.Context(), top, "pool"); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				if _, err := a.peer(here, peerOf(`{}`)); err == nil {
					t.Error("started without a pool")
				}
			})
		}
		group.Wait()
		if a.index.Len() != 0 {
			t.Errorf("%d are left", a.index.Len())
		}
	})
}

// A crash of a peer's actor does not affect the next request.
func TestPeerOutlivesItsActor(t *testing.T) {
	perform(t, 10, func(a *actors) {
		h := a.known(here, peerOf(`{}`))
		out, _ := a.deliver(h, "crash")
		if out.Word() != int64(-32603) {
			t.Errorf("the one it crashed on: %v", out.All())
		}
		next := &testrig.Sink{}
		if err := a.known(here, peerOf(`{}`)).Call(a.T.Context(),
			jsonrpc.Request(jsonrpc.IntID(1), "ping", nil), nil,
			next); err != nil || next.Word() != "result" {
			t.Errorf("the next: %v, %v", next.All(), err)
		}
		if a.known(here, peerOf(`{}`)) != h {
			t.Error("it is another's")
		}
		h.Cancel(next) // no effect
		a.WaitIdle()
	})
}

// A client's request is found by the sink of its outcome, also when it continues a call of another
// session.
func TestCallsAreFoundByTheirOutcome(t *testing.T) {
	var c session.Calls
	own, back := &testrig.Sink{}, &testrig.Sink{}
	c.Add(&request.Exchange{ID: 1, Downstream: jsonrpc.StringID("a"), Server: "files", Sink: own})
	c.Add(&request.Exchange{
		ID: 2, Downstream: jsonrpc.StringID("a"), Server: "search", Level: "info", Sink: &testrig.Sink{},
	})
	c.AddRetry(back, 9)
	if id, ok := c.Of(own); !ok || id != 1 {
		t.Errorf("its own: %d, %t", id, ok)
	}
	if id, ok := c.Of(back); !ok || id != 9 {
		t.Errorf("one that continues another: %d, %t", id, ok)
	}
	if _, ok := c.Of(&testrig.Sink{}); ok {
		t.Error("nobody's is somebody's")
	}
	if len(c.Find(`"a"`)) != 2 || len(c.Find(`1`)) != 0 || !c.Has(1) || c.Has(9) || c.Len() != 2 {
		t.Error("they are not found by their ids")
	}
	if c.Logged("files") || !c.Logged("search") {
		t.Error("it is not known whose log is wanted")
	}
	if !c.Cancel(1) || c.Cancel(1) || c.Cancel(9) {
		t.Error("a call is cancelled twice, or a stranger's")
	}
	if found := c.Find(`"a"`); len(found) != 1 || found[0] != 2 {
		t.Errorf("to be cancelled by their id are %d, want the one that is not yet", found)
	}
	if c.RemoveRetry(back); !c.Busy() {
		t.Error("there are calls")
	}
}

// A subscription is acknowledged once.
func TestAcknowledgedOnce(t *testing.T) {
	d := &session.Deliver{}
	if d.Acknowledged() || !d.Acknowledge() || d.Acknowledge() || !d.Acknowledged() {
		t.Error("it is confirmed twice, or never")
	}
}
