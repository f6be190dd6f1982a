package client_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// urlUpstream is a server behind a URL.
type urlUpstream struct{ transport.Upstream }

func (urlUpstream) Info() transport.Info {
	return transport.Info{Transport: "streamable", URL: "https://tools.example:8443/secret/mcp"}
}

func (r *rig) serverAtURL() *mcptest.Peer {
	r.T.Helper()
	p, up := mcptest.NewPeer(r.T)
	r.dials <- dial{up: urlUpstream{up}}
	return p
}

// forgetSession makes a server say that it does not know the session.
func forgetSession(p *mcptest.Peer, calls ...jsonrpc.Message) {
	for _, m := range calls {
		p.Send(transport.Inbound{RequestID: m.ID, Err: streamable.ErrSessionLost})
	}
	p.Close(streamable.ErrSessionLost)
}

// A server that has forgotten its session gets another one from the same incarnation, with
// everything that clients had asked for. A call that it refused was not executed and is sent again,
// once. A call that it had taken may have been executed.
func TestForgottenSessionIsRenewedInPlace(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		r.WaitIdle()
		taken := r.call("one")
		p.Expect("tools/call")
		refused := r.call("one")
		forgetSession(p, p.Expect("tools/call"))
		r.WaitIdle()
		if got := r.outcome(taken); !errors.Is(got.Err, protocol.ConditionUpstreamLost) ||
			!strings.Contains(string(protocol.Translate(got.Err, protocol.V20251125).Data),
				`"maybeExecuted":true`) {
			t.Errorf("the one it had taken: %v", got.Err)
		}
		late := r.call("one")
		p = r.readyWithResources()
		subscribed := p.Expect("resources/subscribe")
		if string(subscribed.Params) != `{"uri":"test://x"}` {
			t.Errorf("subscription: %s", subscribed.Params)
		}
		again, next := p.Expect("tools/call"), p.Expect("tools/call")
		if got := r.updates(); len(got) != 0 {
			t.Errorf("told of %v before the server has agreed", got)
		}
		p.Reply(subscribed, `{}`)
		r.WaitIdle()
		if got := r.updates(); !slices.Equal(got, []string{"test://x"}) {
			t.Errorf("what may have changed meanwhile: told of %v", got)
		}
		p.Reply(next, `{"which":"late"}`)
		forgetSession(p, again)
		if got := r.outcome(late); string(got.Result) != `{"which":"late"}` {
			t.Errorf("the one that waited: %v", got.Err)
		}
		if got := r.outcome(refused); !errors.Is(got.Err, protocol.ConditionUpstreamLost) {
			t.Errorf("the one that was refused twice: %v", got.Err)
		}
		r.readyWithResources().Expect("resources/subscribe")
		if n := r.Ref("conn").Incarnation(); n != 1 {
			t.Errorf("incarnation %d", n)
		}
		if want := []client.State{client.Starting, client.Ready, client.Starting, client.Ready,
			client.Starting, client.Ready}; !slices.Equal(r.states(), want) {
			t.Errorf("states %v, want %v", r.states(), want)
		}
	})
}

// A call that a server refuses because it has forgotten the session waits for the next session. It
// is not sent again on the connection that is about to end, where nobody could tell what the server
// has done.
func TestRefusedCallWaitsForTheNextSession(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		x := r.call("one")
		m := p.Expect("tools/call")
		p.Send(transport.Inbound{RequestID: m.ID, Err: streamable.ErrSessionLost})
		r.WaitIdle()
		p.ExpectNothing(time.Second)
		p.Close(streamable.ErrSessionLost)
		p = r.readyWithResources()
		p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		r.WaitIdle()
		if got := r.outcome(x); got.Err != nil {
			t.Errorf("it ends with %v", got.Err)
		}
	})
}

// A forgotten session is renewed without a pause, as often as the intensity allows in its window,
// even after earlier pauses. A session that ended before the server was ready with it is renewed
// after a pause.
func TestRenewalsAfterServiceAreAtOnce(t *testing.T) {
	const restarts, within = 5, 30 * time.Second
	intensity := func(o *client.Options) {
		o.Intensity = tenant.Intensity{Restarts: restarts, Within: within}
	}
	run(t, intensity, func(r *rig) {
		serve := func() (waited time.Duration) {
			begun := time.Now()
			p := r.ready(`{"tools":{}}`)
			waited = time.Since(begun)
			x := r.call("one")
			p.Reply(p.Expect("tools/call"), `{"content":[]}`)
			r.WaitIdle()
			if got := r.outcome(x); got.Err != nil {
				t.Errorf("a call: %v", got.Err)
			}
			time.Sleep(20 * time.Millisecond)
			forgetSession(p)
			r.WaitIdle()
			return waited
		}
		for round := range 2 {
			for n := range 1 + restarts {
				if waited := serve(); waited > 0 {
					t.Errorf("round %d: it was begun anew for the %d. time after %v", round, n, waited)
				}
			}
			for serve() < client.MaxRenewalPause/2 { // a longer time is spaced
			}
			time.Sleep(within)
		}
	})
	run(t, intensity, func(r *rig) {
		begun := time.Now()
		for range 4 {
			p := r.server()
			p.Handshake(`{"tools":{}}`)
			forgetSession(p, p.Expect("tools/list"))
		}
		r.server().Handshake(`{"tools":{}}`)
		if got, want := time.Since(begun), (1+2+4)*client.FirstRenewalPause; got != want {
			t.Errorf("of no use four times: took %v, want %v", got, want)
		}
	})
}

// The pauses before new sessions grow when a server forgets each session at once. After the longest
// pause the connection ends if all sessions were useless.
func TestRenewalsAreSpaced(t *testing.T) {
	run(t, nil, func(r *rig) {
		start := time.Now()
		for range 8 {
			forgetSession(r.ready(`{"tools":{}}`))
		}
		r.ready(`{"tools":{}}`)
		if got, want := time.Since(start), (1+2+4+8+16)*client.FirstRenewalPause+
			2*client.MaxRenewalPause; got != want {
			t.Errorf("took %v, want %v", got, want)
		}
		if got := r.Ref("conn").Incarnation(); got != 1 {
			t.Errorf("incarnation %d", got)
		}
	})
	run(t, nil, func(r *rig) {
		for range 7 {
			p := r.server()
			p.Handshake(`{"tools":{}}`)
			forgetSession(p, p.Expect("tools/list"))
		}
		r.WaitIdle()
		if n := r.Ref("conn").Incarnation(); n != 2 {
			t.Errorf("incarnation %d, want the second when it is of no use", n)
		}
	})
}

// The pauses between useless sessions grow, however long the server takes to forget a session.
func TestRenewalsOfASlowServerAreSpaced(t *testing.T) {
	run(t, nil, func(r *rig) {
		const slow = 3 * client.FirstRenewalPause
		start := time.Now()
		for range 6 {
			p := r.server()
			p.Handshake(`{"tools":{}}`)
			list := p.Expect("tools/list")
			time.Sleep(slow)
			forgetSession(p, list)
		}
		r.server().Handshake(`{}`)
		if got, want := time.Since(start), 6*slow+(1+2+4+8+16)*client.FirstRenewalPause; got != want {
			t.Errorf("took %v, want %v", got, want)
		}
	})
}

// The reason for the end of a connection is remembered, whatever it is, and told to callers and in
// the tree.
func TestCallerIsToldWhyAServerCannotBeReached(t *testing.T) {
	refused := errors.New("dial tcp: connect: connection refused")
	for name, play := range map[string]struct {
		do   func(r *rig)
		text string
	}{
		"initialize cannot be carried": {func(r *rig) {
			p := r.serverAtURL()
			p.Send(transport.Inbound{RequestID: p.Expect("initialize").ID, Err: refused})
		}, "tools.example:8443: initialize: dial tcp: connect: connection refused"},
		"initialize is refused": {func(r *rig) {
			p := r.serverAtURL()
			p.Refuse(p.Expect("initialize"), -32603, "not today")
			p.Refuse(p.Expect("server/discover"), -32601, "no such method")
		}, "not today"},
		"no answer": {func(r *rig) {
			r.serverAtURL().Expect("initialize")
			time.Sleep(time.Minute)
		}, "no answer within 1m0s"},
		"a crash": {func(r *rig) {
			r.Break("conn", "*client.ClientNotification")
			r.send(&client.ClientNotification{})
		}, "the connection crashed"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				play.do(r)
				r.WaitIdle()
				x := r.call("one")
				if err := r.Tree.Shutdown(r.T.Context()); err != nil {
					t.Error(err)
				}
				if got := fmt.Sprint(x.Sink.(*testrig.Sink).Outcome().Error); !strings.Contains(got,
					play.text) ||
					strings.Contains(got, "secret") {
					t.Errorf("the call: %s, want %q", got, play.text)
				}
			})
			run(t, nil, func(r *rig) {
				play.do(r)
				r.WaitIdle()
				told := slices.ContainsFunc(r.reports(), func(p *client.Report) bool {
					return p.State == client.Backoff && p.Cause != nil &&
						strings.Contains(p.Cause.Error(), play.text)
				})
				if !told {
					t.Errorf("the catalogue was not told %q", play.text)
				}
			})
		})
	}
}

// A malformed answer is reported as an error of the server that says what is wrong with the answer.
// A call that did not reach the server is told apart from one that may have been executed.
func TestBrokenAnswerSaysWhatIsWrong(t *testing.T) {
	for name, tt := range map[string]struct {
		in    transport.Inbound
		code  int64
		texts []string
	}{
		"unreadable": {transport.Inbound{Err: errors.New("the answer is of type \"text/html\""),
			Written: true}, -32603, []string{"text/html", `"maybeExecuted":true`, `"retryable":false`,
			"upstream_invalid"}},
		"refused": {transport.Inbound{Err: &streamable.StatusError{Status: 401}}, -32603, []string{
			"refused the request", "401 Unauthorized", `"maybeExecuted":false`, `"retryable":false`,
		}},
		"failed": {transport.Inbound{Err: &streamable.StatusError{Status: 500}, Written: true}, -32603,
			[]string{"500 Internal", `"maybeExecuted":true`, `"retryable":false`, "upstream_invalid"}},
		"too often": {transport.Inbound{Err: &streamable.StatusError{Status: 429,
			RetryAfter: 7 * time.Second}}, protocol.CodeRateLimited, []string{
			"429 Too Many", `"maybeExecuted":false`, `"retryable":true`, `"retryAfterMs":7000`,
			"upstream_unavailable",
		}},
		"not now": {transport.Inbound{Err: &streamable.StatusError{Status: 503,
			RetryAfter: 3 * time.Second}}, protocol.CodeRateLimited, []string{
			"503 Service", `"maybeExecuted":false`, `"retryable":true`, `"retryAfterMs":3000`,
			"upstream_unavailable",
		}},
		"gateway": {transport.Inbound{Err: &streamable.StatusError{Status: 502}, Written: true},
			protocol.CodeTransport,
			[]string{"502 Bad Gateway", `"maybeExecuted":true`, `"retryable":false`, "upstream_lost"}},
		"cut": {transport.Inbound{Err: &net.OpError{Op: "read", Err: syscall.ECONNRESET},
			Written: true}, protocol.CodeTransport, []string{"connection reset", `"maybeExecuted":true`,
			"upstream_lost"}},
		"cut short": {transport.Inbound{Err: fmt.Errorf("the stream: %w", io.ErrUnexpectedEOF),
			Written: true}, protocol.CodeTransport, []string{"unexpected EOF", `"maybeExecuted":true`,
			"upstream_lost"}},
		"unreached": {transport.Inbound{Err: errors.New("connection refused")}, protocol.CodeTransport,
			[]string{"connection refused", `"maybeExecuted":false`}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				p := r.ready(`{"tools":{}}`)
				x := r.call("one")
				tt.in.RequestID = p.Expect("tools/call").ID
				p.Send(tt.in)
				got := protocol.Translate(r.outcome(x).Err, protocol.V20251125)
				if got.Code != tt.code {
					t.Errorf("code %d, want %d", got.Code, tt.code)
				}
				for _, part := range tt.texts {
					if text := got.Message + string(got.Data); !strings.Contains(text, part) {
						t.Errorf("%s lacks %s", text, part)
					}
				}
			})
		})
	}
}

// updates returns the resources of which clients were told that they have changed.
func (r *rig) updates() (uris []string) {
	for _, n := range testrig.Of[*notification.Dispatch](&r.dispatcher.Log) {
		if n.Method == "notifications/resources/updated" {
			uris = append(uris, n.URI)
		}
	}
	return uris
}
