package client_test

import (
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// shared is a connection to a program that may ask its clients something, and that may have two
// instances.
func shared(o *client.Options) {
	declares(elicits)(o)
	o.Instances, o.Linger = 2, time.Minute
}

// program returns a program after its handshake, as the server of the next of these dials.
func (r *rig) program(dials chan dial) *mcptest.Peer {
	r.T.Helper()
	p, up := mcptest.NewPeer(r.T)
	dials <- dial{up: &wire{Upstream: up, pid: 4242}}
	p.Handshake(`{"tools":{},"logging":{}}`)
	if dials == r.dials {
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
	}
	r.WaitIdle()
	return p
}

// wanted returns the requests for another instance that the catalogue got.
func (r *rig) wanted() []*client.StartInstance {
	return testrig.Of[*client.StartInstance](&r.catalog.Log)
}

// grow gives the connection the other instance that it has asked for.
func (r *rig) grow() *mcptest.Peer {
	r.T.Helper()
	time.Sleep(client.Patience)
	r.WaitIdle()
	asked := r.wanted()
	if len(asked) != 1 || asked[0].Req.Server != "files" ||
		asked[0].Req.Declare.Fingerprint() != protocol.CanElicitForm {
		r.T.Fatalf("asked for %+v", asked)
	}
	ref, err := otp.StartChild(r.T.Context(), r.Tree.Ref(), r.other())
	if err != nil {
		r.T.Fatal(err)
	}
	asked[0].Reply(client.Instance{Ref: ref, Key: tenant.Key{Share: tenant.ByTenant, Instance: 1}})
	return r.program(r.others)
}

// Calls of two sessions are never in flight at once at a program that may ask their users, so that
// it is certain whom its questions mean, from the first on. The call that waits gets an instance of
// its own before long, and the questions of either instance reach the right user.
func TestCallThatWaitsGetsAnInstance(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.attach("one")
		r.attach("two")
		<-r.setIntent(client.SubscriptionIntent{Session: "one"})
		granted := r.setIntent(client.SubscriptionIntent{Session: "two", Level: "debug"})
		p.Reply(p.Expect("logging/setLevel"), `{}`)
		<-granted
		first, second := r.call("one"), r.call("two")
		p.Expect("tools/call")
		p.ExpectNothing(client.Patience / 2)
		if len(r.wanted()) > 0 {
			t.Error("it was not patient")
		}

		q := r.grow()
		if m := q.Expect("logging/setLevel"); string(m.Params) != `{"level":"debug"}` {
			t.Errorf("logs at %s", m.Params)
		} else {
			q.Reply(m, `{}`)
		}
		m := q.Expect("tools/call")
		for box, peer := range map[*testrig.Box]*mcptest.Peer{&r.one: p, &r.two: q} {
			peer.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
			r.WaitIdle()
			if got := asked(box); len(got) != 1 {
				t.Errorf("asked %v", got)
			}
		}
		if a, b := asked(&r.one)[0], asked(&r.two)[0]; a.Exchange != first || b.Exchange != second ||
			a.From == b.From {
			t.Errorf("asked %+v and %+v", a, b)
		}
		q.Reply(m, `{"content":[]}`)
		r.WaitIdle()
		if got := r.outcome(second); got.Err != nil {
			t.Error(got.Err)
		}
		if got := r.report(); got.State != client.Ready || len(r.wanted()) != 1 {
			t.Errorf("%+v, %d instances", got, len(r.wanted())+1)
		}
	})
}

// The next call that waits gets an idle instance at once. When all instances are busy, the call
// waits for the first that is not.
func TestInstanceTakesTheNext(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.call("one")
		r.call("two")
		p.Expect("tools/call")
		q := r.grow()
		m := q.Expect("tools/call")
		time.Sleep(client.Patience)
		third := r.exchange("two", "tools/call", `{"name":"a"}`)
		third.Session = "three"
		r.send(&request.Forward{Exchange: third})
		q.ExpectNothing(time.Second)
		q.Reply(m, `{"content":[]}`)
		q.Reply(q.Expect("tools/call"), `{"content":[]}`)
		r.WaitIdle()
		if got := r.outcome(third); got.Err != nil {
			t.Error(got.Err)
		}
		r.call("two")
		q.Expect("tools/call")
		if len(r.wanted()) != 1 {
			t.Errorf("%d instances were asked for beyond their bound", len(r.wanted()))
		}
	})
}

// A call that an instance holds is withdrawn there.
func TestCallOfAnInstanceIsWithdrawn(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.call("one")
		x := r.call("two")
		p.Expect("tools/call")
		q := r.grow()
		q.Expect("tools/call")
		r.send(&request.Withdraw{ID: x.ID, Reason: "timeout"})
		q.Expect("notifications/cancelled")
		p.ExpectNothing(time.Second)
	})
}

// An instance without calls is ended before long. An instance that crashed takes the next call when
// it is back; an instance that is gone is not waited for.
func TestInstanceEnds(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.call("one")
		r.call("two")
		held := p.Expect("tools/call")
		q := r.grow()
		q.Expect("tools/call")
		q.Close(nil)
		time.Sleep(time.Second)
		q = r.program(r.others)
		r.call("two")
		m := q.Expect("tools/call")
		q.Reply(m, `{"content":[]}`)
		time.Sleep(time.Minute)
		r.WaitIdle()
		unused := testrig.Of[*client.Unused](&r.catalog.Log)
		if len(unused) != 1 || unused[0].From != r.Ref("other") || unused[0].Key.Instance != 1 {
			t.Fatalf("unused: %+v", unused)
		}
		x := r.call("two")
		q.ExpectNothing(time.Millisecond)
		p.Reply(held, `{"content":[]}`)
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		r.WaitIdle()
		if got := r.outcome(x); got.Err != nil {
			t.Error(got.Err)
		}
	})
}

// An idle instance ends within seconds, that of a program or of a URL. It stays while a user is
// asked on the first connection, because calls cannot go there.
func TestIdleInstanceEndsUnlessAQuestionIsOpen(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.attach("one")
		r.attach("two")
		r.call("one")
		r.call("two")
		held := p.Expect("tools/call")
		q := r.grow()
		m := q.Expect("tools/call")
		p.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
		r.WaitIdle()
		q.Reply(m, `{"content":[]}`)
		unused := func() []*client.Unused { return testrig.Of[*client.Unused](&r.catalog.Log) }
		time.Sleep(5 * client.InstanceRest)
		r.WaitIdle()
		if got := unused(); len(got) != 0 {
			t.Fatalf("ended while a user is asked: %+v", got[0])
		}
		asks := asked(&r.one)
		r.send(&client.Answer{Question: asks[0].ID, Result: jsontext.Value(`{"action":"cancel"}`)})
		p.ExpectAnswer(question)
		p.Reply(held, `{"content":[]}`)
		time.Sleep(2*client.InstanceRest + time.Second)
		r.WaitIdle()
		if got := unused(); len(got) == 0 || got[0].Key.Instance != 1 {
			t.Fatalf("unused: %+v", got)
		}
	})
	run(t, func(o *client.Options) { shared(o); o.Linger = 0 }, func(r *rig) {
		p, up := mcptest.NewPeer(r.T)
		r.dials <- dial{up: urlUpstream{up}}
		p.Handshake(`{"tools":{}}`)
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		r.WaitIdle()
		r.call("one")
		r.call("two")
		p.Expect("tools/call")
		ref, err := otp.StartChild(r.T.Context(), r.Tree.Ref(), r.other())
		if err != nil {
			t.Fatal(err)
		}
		r.wanted()[0].Reply(client.Instance{
			Ref: ref, Key: tenant.Key{Share: tenant.ByTenant, Instance: 1},
		})
		q, up := mcptest.NewPeer(r.T)
		r.others <- dial{up: urlUpstream{up}}
		q.Handshake(`{"tools":{}}`)
		q.Reply(q.Expect("tools/call"), `{"content":[]}`)
		time.Sleep(client.InstanceRest + time.Second)
		r.WaitIdle()
		if got := testrig.Of[*client.Unused](&r.catalog.Log); len(got) == 0 || got[0].Key.Instance != 1 {
			t.Fatalf("unused: %+v", got)
		}
	})
}

// An instance that cannot be had is asked for again later, and the calls wait for their turn.
func TestInstanceCannotBeHad(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.call("one")
		r.call("two")
		m := p.Expect("tools/call")
		time.Sleep(client.Patience)
		r.WaitIdle()
		r.wanted()[0].Fail(protocol.Overloaded("instances", time.Minute))
		time.Sleep(client.InstanceRetry)
		r.WaitIdle()
		if n := len(r.wanted()); n != 2 {
			t.Errorf("asked %d times", n)
		}
		p.Reply(m, `{"content":[]}`)
		p.Expect("tools/call")
	})
}

// A question of a server that starts is for the client that waits for the server, if there is only
// one.
func TestQuestionDuringTheStart(t *testing.T) {
	run(t, declares(`{"roots":{}}`), func(r *rig) {
		x := r.call("one")
		p := r.server()
		p.Handshake(`{"tools":{}}`)
		p.Expect("tools/list")
		p.Ask(jsonrpc.ID{}, question, "roots/list", `{}`)
		r.WaitIdle()
		if got := asked(&r.one); len(got) != 1 || got[0].Exchange != x {
			t.Errorf("asked %+v", got)
		}
		r.send(&request.Withdraw{ID: x.ID, Reason: "timeout"})
		if got := testrig.Of[*client.Withdrawn](&r.one.Log); len(got) != 1 {
			t.Errorf("withdrawn: %v", got)
		}
	})
}

// A remote server could name the call of a question, and need not. It gets one more session for
// each call that would wait, without delay. Such a session is asked for its lists only when it
// announces a change.
func TestRemoteServerHasASessionForEachCall(t *testing.T) {
	run(t, shared, func(r *rig) {
		p, up := mcptest.NewPeer(r.T)
		r.dials <- dial{up: urlUpstream{up}}
		p.Handshake(`{"tools":{}}`)
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		r.WaitIdle()
		r.call("one")
		x := r.call("two")
		p.Expect("tools/call")
		ref, err := otp.StartChild(r.T.Context(), r.Tree.Ref(), r.other())
		if err != nil {
			t.Fatal(err)
		}
		r.wanted()[0].Reply(client.Instance{
			Ref: ref, Key: tenant.Key{Share: tenant.ByTenant, Instance: 1},
		})
		q, up := mcptest.NewPeer(r.T)
		r.others <- dial{up: urlUpstream{up}}
		q.Handshake(`{"tools":{}}`)
		q.Expect("tools/call")
		q.Notify(jsonrpc.ID{}, "notifications/tools/list_changed", "")
		q.Expect("tools/list")
		q.Ask(jsonrpc.ID{}, question, "elicitation/create", `{}`)
		r.WaitIdle()
		if got := asked(&r.two); len(got) != 1 || got[0].Exchange != x {
			t.Errorf("asked %+v", got)
		}
		q.ExpectNothing(time.Second)
	})
}

// unmindful is a remote server that keeps no session.
type unmindful struct{ transport.Upstream }

func (unmindful) Info() transport.Info {
	return transport.Info{Transport: "streamable", Stateless: true}
}

// A server that answers initialize and keeps no session can neither ask nor announce anything in
// the legacy era. It is spoken to in the modern era, if it knows that.
func TestServerWithoutSessionsIsProbed(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(p *mcptest.Peer, m jsonrpc.Message)
		want   protocol.Version
	}{
		"knows": {func(p *mcptest.Peer, m jsonrpc.Message) {
			p.Reply(m, discovered)
		}, protocol.V20260728},
		"does not": {func(p *mcptest.Peer, m jsonrpc.Message) {
			p.Refuse(m, -32601, "what?")
		}, protocol.V20251125},
		"trouble": {func(p *mcptest.Peer, m jsonrpc.Message) {
			p.Send(transport.Inbound{RequestID: m.ID, Err: transport.ErrClosed})
		}, protocol.V20251125},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				p, up := mcptest.NewPeer(r.T)
				r.dials <- dial{up: unmindful{up}}
				p.Reply(p.Expect("initialize"),
					`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
				tt.answer(p, p.Expect("server/discover"))
				if tt.want == protocol.V20251125 {
					p.Expect("notifications/initialized")
				}
				m := p.Expect("tools/list")
				if protocol.IsModern(m.Params) != (tt.want == protocol.V20260728) {
					t.Errorf("listed with %s", m.Params)
				}
				p.Reply(m, `{"tools":[]}`)
				r.WaitIdle()
				if got := r.report(); got.State != client.Ready || got.Facts.Version != tt.want {
					t.Errorf("report: %+v", got)
				}
			})
		})
	}
}

// A call whose result is asked about later waits for its turn: another instance would know nothing
// of it.
func TestCallThatStaysGetsNoInstance(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.attach("one")
		r.attach("two")
		r.call("one")
		m := p.Expect("tools/call")
		x := r.exchange("two", "tools/call", `{"name":"a","task":{}}`)
		x.NeedsConnection = true
		r.send(&request.Forward{Exchange: x})
		p.ExpectNothing(3 * client.Patience)
		if got := r.wanted(); len(got) > 0 {
			t.Errorf("asked for %+v", got)
		}
		p.Reply(m, `{"content":[]}`)
		p.Expect("tools/call")
	})
}

// A session that says that it no longer needs the connection does not keep it.
func TestDetachedConnectionEnds(t *testing.T) {
	run(t, shared, func(r *rig) {
		r.program(r.dials)
		r.attach("one")
		time.Sleep(2 * time.Minute)
		if got := testrig.Of[*client.Unused](&r.catalog.Log); len(got) > 0 {
			t.Fatalf("in use, and said %+v", got)
		}
		r.send(client.Detach{Ref: r.Ref("one")})
		time.Sleep(2 * time.Minute)
		if got := testrig.Of[*client.Unused](&r.catalog.Log); len(got) == 0 {
			t.Error("it says nothing of it")
		}
	})
}

// A tool that a call has added to another instance is listed as by that instance. Calls of the tool
// go there, whichever session makes them.
func TestToolAddedToAnInstance(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		first, second := r.call("one"), r.call("two")
		one := p.Expect("tools/call")
		q := r.grow()
		two := q.Expect("tools/call")
		q.Notify(jsonrpc.ID{}, "notifications/tools/list_changed", "")
		q.Reply(q.Expect("tools/list"), `{"tools":[{"name":"a"},{"name":"added"}]}`)
		r.WaitIdle()
		got := r.report()
		if got.Key.Instance != 1 || len(got.Lists[catalog.Tools]) != 2 ||
			!slices.Equal(got.Changed, []catalog.Kind{catalog.Tools}) {
			t.Errorf("instance %d reports %s, changed %v", got.Key.Instance, got.Lists[catalog.Tools],
				got.Changed)
		}
		added := r.forward("one", "tools/call", `{"name":"added"}`)
		q.Reply(two, `{"content":[]}`)
		q.Reply(q.Expect("tools/call"), `{"content":[]}`)
		p.Reply(one, `{"content":[]}`)
		again := r.forward("two", "tools/call", `{"name":"added"}`)
		q.Reply(q.Expect("tools/call"), `{"content":[]}`)
		own := r.forward("two", "tools/call", `{"name":"b"}`)
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		r.WaitIdle()
		for _, x := range []*request.Exchange{first, second, added, again, own} {
			if got := r.outcome(x); got.Err != nil {
				t.Errorf("call %d: %v", x.ID, got.Err)
			}
		}
	})
}
