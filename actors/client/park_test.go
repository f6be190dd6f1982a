package client_test

import (
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonedit"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// sessionful is a remote server whose sessions outlive their connections.
type sessionful struct {
	urlUpstream
	session string // that the server gave
	left    *string
	taken   *string // "=" before it when the standing stream was opened too
}

func (s sessionful) Leave() string { *s.left = s.session; return s.session }

func (s sessionful) Take(id string) { *s.taken = id }

func (s sessionful) Resume(id string) { *s.taken = "=" + id }

// parking is a connection to such a server, of one session alone.
type parking struct {
	*rig
	left, taken string
}

func own(o *client.Options) {
	o.Key = tenant.Key{Share: tenant.BySession, Session: "one"}
}

func (r *parking) dial() *mcptest.Peer {
	r.T.Helper()
	p, up := mcptest.NewPeer(r.T)
	r.dials <- dial{up: sessionful{urlUpstream{up}, "secret", &r.left, &r.taken}}
	return p
}

// ready returns the server after its handshake, with a session that is subscribed to a resource.
func (r *parking) ready() *mcptest.Peer {
	r.T.Helper()
	p := r.dial()
	p.Handshake(resourceCapabilities)
	r.lists(p)
	r.attach("one")
	r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
	p.Reply(p.Expect("resources/subscribe"), `{}`)
	r.WaitIdle()
	return p
}

// lists answers the list requests that such a server gets when it is connected to.
func (r *parking) lists(p *mcptest.Peer) {
	r.T.Helper()
	p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
	p.Reply(p.Expect("resources/list"), `{"resources":[]}`)
	p.Reply(p.Expect("resources/templates/list"), `{"resourceTemplates":[]}`)
	r.WaitIdle()
}

// records returns the numbers of records by kind.
func records(of telemetry.RecordHolder) map[string]int {
	all := map[string]int{}
	of.Records(func(kind string, n int) bool { all[kind] += n; return true })
	return all
}

func updates(r *rig) (of []*notification.Dispatch) {
	for _, n := range testrig.Of[*notification.Dispatch](&r.dispatcher.Log) {
		if n.Method == "notifications/resources/updated" {
			of = append(of, n)
		}
	}
	return of
}

// The connection of a session whose client is silent is closed, and its subscriptions end. When the
// client is back, the next connection resumes the server's session without a handshake. The client
// is told what may have changed.
func TestSessionOfASilentClientIsParked(t *testing.T) {
	run(t, own, func(rig *rig) {
		r := &parking{rig: rig}
		p := r.ready()
		r.send(client.Release{Ref: r.Ref("one")})
		p.Reply(p.Expect("resources/unsubscribe"), `{}`)
		time.Sleep(time.Minute)
		p.ExpectClosed()
		if got := r.report(); got.State != client.Stopped || got.Closed != "idle_release" ||
			r.left != "secret" {
			t.Fatalf("report: %+v, left %q", got, r.left)
		}
		if got := records(r.status()); got["parked_sessions"] != 1 {
			t.Errorf("counted %v", got)
		}
		if got := testrig.Of[telemetry.UpstreamClosed](&r.Events); len(got) != 1 ||
			got[0].Cause != "idle_release" {
			t.Errorf("told %+v", got)
		}
		time.Sleep(24 * time.Hour)
		if got := testrig.Of[*client.Unused](&r.catalog.Log); len(got) != 0 {
			t.Fatalf("it ends, and the server's session with it: %+v", got[0])
		}

		r.attach("one")
		p = r.dial()
		r.lists(p)
		granted := r.setIntent(client.SubscriptionIntent{
			Session: "one", URIs: []string{"test://x"}, Missed: true,
		})
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.WaitIdle()
		if len(granted) != 1 || <-granted != nil || r.taken != "=secret" {
			t.Errorf("granted %d, went on with %q", len(granted), r.taken)
		}
		if got := records(r.status()); got["parked_sessions"] != 0 {
			t.Errorf("gone on with, and counted %v", got)
		}
		if got := updates(rig); len(got) != 1 || got[0].Session != "one" || got[0].URI != "test://x" {
			t.Errorf("told %+v", got)
		}
		x := r.call("one")
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		if got := r.outcome(x); got.Err != nil {
			t.Error(got.Err)
		}
	})
}

// A server that has not kept the session is asked to initialize anew, and no end is reported.
func TestParkedSessionThatIsForgotten(t *testing.T) {
	run(t, own, func(rig *rig) {
		r := &parking{rig: rig}
		p := r.ready()
		r.send(client.Release{Ref: r.Ref("one")})
		p.Reply(p.Expect("resources/unsubscribe"), `{}`)
		time.Sleep(time.Minute)
		r.attach("one")
		x := r.call("one")
		p = r.dial()
		p.Expect("tools/list")
		p.Close(streamable.ErrSessionLost)
		r.WaitIdle()
		p = r.dial()
		p.Handshake(`{"tools":{}}`)
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		if got := r.outcome(x); got.Err != nil {
			t.Error(got.Err)
		}
		if got := testrig.Of[telemetry.UpstreamStartFailed](&r.Events); len(got) != 0 {
			t.Errorf("told %+v", got)
		}
	})
}

// When an operator restarts the connection, the parked session ends, and another begins.
func TestRestartEndsAParkedSession(t *testing.T) {
	run(t, own, func(rig *rig) {
		r := &parking{rig: rig}
		p := r.ready()
		r.send(client.Release{Ref: r.Ref("one")})
		p.Reply(p.Expect("resources/unsubscribe"), `{}`)
		time.Sleep(time.Minute)
		p.ExpectClosed()
		ends := r.dial()
		r.send(client.Restart{Why: client.EndedByOperator(false, "incident")})
		r.WaitIdle()
		ends.ExpectClosed()
		if r.taken != "secret" {
			t.Errorf("ended the session %q", r.taken)
		}
		r.dial().Handshake(resourceCapabilities)
	})
}

// A session that ends while it is parked is ended at its server too.
func TestParkedSessionEnds(t *testing.T) {
	run(t, own, func(rig *rig) {
		r := &parking{rig: rig}
		p := r.ready()
		r.send(client.Release{Ref: r.Ref("one")})
		p.Reply(p.Expect("resources/unsubscribe"), `{}`)
		time.Sleep(time.Minute)
		r.WaitIdle()
		before := len(r.closed)
		r.Send("one", otp.Normal)
		time.Sleep(client.Reattach + time.Second)
		if got := testrig.Of[*client.Unused](&r.catalog.Log); len(got) == 0 {
			t.Fatal("nobody uses it, and nobody hears of that")
		}
		p = r.dial() // taken by the goroutine that ends the session
		_ = r.Tree.Shutdown(r.T.Context())
		if len(r.closed) != before+1 || r.taken != "secret" {
			t.Errorf("%d closed, went on with %q", len(r.closed)-before, r.taken)
		}
		p.ExpectClosed()
	})
}

// Connections of a silent session that are not parked. A server without state has nothing to
// resume, a session of HTTP+SSE would end with its connection, and a shared connection has other
// users.
func TestReleaseWithoutParking(t *testing.T) {
	unused := func(r *rig) int { return len(testrig.Of[*client.Unused](&r.catalog.Log)) }
	run(t, own, func(r *rig) {
		p, up := mcptest.NewPeer(r.T)
		r.dials <- dial{up: unmindful{up}}
		p.Reply(p.Expect("initialize"),
			`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
		p.Refuse(p.Expect("server/discover"), -32601, "what?")
		p.Expect("notifications/initialized")
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		r.WaitIdle()
		r.attach("one")
		r.send(client.Release{Ref: r.Ref("one")})
		if time.Sleep(client.Reattach + time.Second); unused(r) == 0 {
			t.Error("a connection without state stays")
		}
	})
	run(t, own, func(r *rig) {
		p, up := mcptest.NewPeer(r.T)
		r.dials <- dial{up: streaming{up}}
		p.Handshake(`{"tools":{}}`)
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		r.WaitIdle()
		r.attach("one")
		r.send(client.Release{Ref: r.Ref("one")})
		if time.Sleep(time.Hour); unused(r) != 0 || r.report().State != client.Ready {
			t.Error("the session of HTTP+SSE is lost")
		}
		r.Send("one", otp.Normal)
		if time.Sleep(client.Reattach + time.Second); unused(r) == 0 {
			t.Error("it outlives its session")
		}
	})
	run(t, func(o *client.Options) { o.Linger = time.Minute }, func(r *rig) {
		r.ready(`{"tools":{}}`)
		r.attach("one")
		r.attach("two")
		r.send(client.Release{Ref: r.Ref("one")})
		if time.Sleep(time.Hour); unused(r) != 0 {
			t.Error("it ends although another session uses it")
		}
		r.send(client.Release{Ref: r.Ref("two")})
		if time.Sleep(time.Minute + time.Second); unused(r) == 0 {
			t.Error("it stays although nobody uses it")
		}
	})
}

// streaming is a server of HTTP+SSE.
type streaming struct{ transport.Upstream }

func (streaming) Info() transport.Info {
	return transport.Info{Transport: transport.SSE, URL: "https://tools.example/sse"}
}

// A connection without sessions to a server that may announce something stays as long as sessions
// listen to it.
func TestConnectionStaysForThoseWhoListen(t *testing.T) {
	run(t, func(o *client.Options) { o.Linger, o.Listened = time.Minute, true }, func(r *rig) {
		r.ready(`{"tools":{}}`)
		asks := func() []*notification.HasListeners {
			return testrig.Of[*notification.HasListeners](&r.dispatcher.Log)
		}
		for n := range 3 {
			time.Sleep(time.Minute + time.Second)
			r.WaitIdle()
			if len(asks()) != n+1 {
				t.Fatalf("asked %d times", len(asks()))
			}
			asks()[n].Reply(n < 2)
			r.WaitIdle()
		}
		if got := testrig.Of[*client.Unused](&r.catalog.Log); len(got) != 1 || got[0].Why != "unused" {
			t.Errorf("unused: %+v", got)
		}
		if asks()[0].Req.Server != "files" {
			t.Errorf("asked for %+v", asks()[0].Req)
		}
	})
}

// A server behind a URL sleeps by idle_stop too, and the call that wakes it resumes its session.
func TestRemoteServerThatNothingNeedsSleeps(t *testing.T) {
	run(t, sleepy, func(rig *rig) {
		r := &parking{rig: rig}
		p := r.dial()
		p.Handshake(`{"tools":{}}`)
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		r.WaitIdle()
		r.attach("one")
		time.Sleep(2 * time.Minute)
		p.ExpectClosed()
		if got := r.report(); got.State != client.Stopped || got.Closed != "idle_stop" {
			t.Fatalf("report: %+v", got)
		}
		x := r.call("one")
		p = r.dial()
		m := p.Expect("tools/list")
		if _, modern := jsonedit.Get(m.Params, "_meta"); modern {
			t.Errorf("asked with %s", m.Params)
		}
		p.Reply(m, `{"tools":[]}`)
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		if got := r.outcome(x); got.Err != nil || r.taken != "=secret" {
			t.Errorf("%v, went on with %q", got.Err, r.taken)
		}
	})
}
