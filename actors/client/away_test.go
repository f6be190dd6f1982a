package client_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// behind is a connection to a URL.
type behind struct{ transport.Upstream }

func (behind) Info() transport.Info {
	return transport.Info{Transport: "streamable", URL: "http://host/mcp"}
}

var errRefused = &net.OpError{Op: "dial", Err: errors.New("connection refused")}

// remotely returns a server behind a URL that is ready.
func (r *rig) remotely() *mcptest.Peer {
	r.T.Helper()
	p := r.dialled()
	p.Handshake(`{"tools":{}}`)
	p.Reply(p.Expect("tools/list"), `{"tools":[{"name":"a"}]}`)
	r.WaitIdle()
	return p
}

func (r *rig) dialled() *mcptest.Peer {
	r.T.Helper()
	p, up := mcptest.NewPeer(r.T)
	r.dials <- dial{up: behind{up}}
	return p
}

func (r *rig) isAway() {
	r.T.Helper()
	r.WaitIdle()
	if got := r.report(); got.State != client.Backoff || !got.Away || got.Cause == nil {
		r.T.Fatalf("reported %+v", got)
	}
}

// With a server that is back but has lost its sessions, the connection starts over and is not away
// any more.
func TestServerThatIsBackWithoutItsSessions(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.remotely()
		r.attach("one")
		r.call("one")
		p.Send(failure(p.Expect("tools/call"), errRefused))
		r.isAway()
		r.send(client.Redial{})
		forgetSession(p, p.Expect("ping"))
		r.WaitIdle()
		if got := r.report(); got.State != client.Starting || got.Away {
			t.Errorf("reported %+v", got)
		}
	})
}

// Calls wait for a server that refuses connections as long as a restart takes. Then they are
// refused with the incident and the time of the next dial, and later calls are refused at once.
// Calls that were in flight stay in flight.
func TestCallsWaitForAServerThatIsAway(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.remotely()
		r.attach("one")
		running := r.call("one")
		inFlight := p.Expect("tools/call")
		first := r.call("one")
		p.Send(failure(p.Expect("tools/call"), errRefused))
		r.isAway()
		r.send(client.Describe{}) // as a new catalogue does
		r.isAway()
		waits := r.call("one")
		p.Reply(inFlight, `{"content":[]}`)
		r.WaitIdle()
		if got := r.outcome(running); got.Err != nil {
			t.Errorf("the call in flight: %v", got.Err)
		}
		if n := len(r.outcomes()); n != 1 {
			t.Fatalf("%d outcomes, want one", n)
		}
		time.Sleep(client.AwayGrace - time.Second)
		r.send(client.Pause{For: 7 * time.Second})
		time.Sleep(time.Second)
		r.WaitIdle()
		late := r.call("one")
		r.WaitIdle()
		for name, x := range map[string]error{"first": r.outcome(first).Err,
			"waits": r.outcome(waits).Err, "late": r.outcome(late).Err} {
			e, ok := errors.AsType[*protocol.Error](x)
			if !ok || e.RetryAfter != 6*time.Second || !strings.Contains(string(e.Data), `"incident"`) ||
				!strings.Contains(e.Message, "connection refused") {
				t.Errorf("%s: %v", name, x)
			}
		}
		r.send(client.Redial{})
		p.Reply(p.Expect("ping"), "{}")
		p.Expect("tools/list") // the list may have changed meanwhile
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready {
			t.Errorf("reported %+v", got)
		}
		r.call("one")
		p.Expect("tools/call")
		if exits := testrig.Of[telemetry.UpstreamExited](&r.Events); len(exits) != 1 || exits[0].Routine {
			t.Errorf("told %+v", exits)
		}
	})
}

// Errors of a server in use, and of one that starts, show whether the server is away.
func TestWhatSaysThatAServerIsAway(t *testing.T) {
	gateway := &streamable.StatusError{Status: http.StatusBadGateway}
	for _, tt := range []struct {
		name           string
		err            error
		atStart, inUse bool
	}{
		{"refused", errRefused, true, true},
		{"no address", &net.DNSError{Err: "no such host", IsTemporary: true}, true, true},
		{"gateway", gateway, true, false},
		{"cut", io.ErrUnexpectedEOF, true, false},
		{"in trouble", &streamable.StatusError{Status: http.StatusInternalServerError}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				p := r.dialled()
				p.Send(failure(p.Expect("initialize"), tt.err))
				r.WaitIdle()
				if got := r.report().Away; got != tt.atStart {
					t.Errorf("at its start: %v", got)
				}
			})
			run(t, nil, func(r *rig) {
				p := r.remotely()
				r.attach("one")
				r.call("one")
				p.Send(failure(p.Expect("tools/call"), tt.err))
				r.WaitIdle()
				if got := r.report().Away; got != tt.inUse {
					t.Errorf("in use: %v", got)
				}
			})
		})
	}
}

// A stream that cannot be dialled shows it too, and so does the end of the stream of HTTP+SSE. Only
// the catalogue makes the connection dial, or the connection itself when the catalogue says
// nothing.
func TestServerThatIsAwayIsDialledWhenItIsTime(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.remotely()
		p.Send(transport.Inbound{Control: streamable.Unreached{Err: errRefused}})
		r.isAway()
		p.ExpectNothing(client.AwayAlone - time.Second)
		p.Send(failure(p.Expect("ping"), errRefused))
		r.isAway()
		p.Close(io.EOF)
		r.isAway()
		r.send(client.Redial{})
		p = r.remotely()
		if got := r.report(); got.State != client.Ready || got.Incarnation != 1 {
			t.Errorf("reported %+v", got)
		}
		r.attach("one")
		r.call("one")
		p.Expect("tools/call")
		if starts := testrig.Of[telemetry.UpstreamStarting](&r.Events); len(starts) != 2 ||
			!starts[1].Routine {
			t.Errorf("told %+v", starts)
		}
	})
}

// Another connection has found the server away: this one checks for itself.
func TestConnectionChecksThatItsServerIsThere(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.remotely()
		r.send(client.Check{})
		p.Reply(p.Expect("ping"), "{}")
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready {
			t.Errorf("reported %+v", got)
		}
		r.send(client.Check{})
		p.Send(failure(p.Expect("ping"), errRefused))
		r.isAway()
	})
}

// The caller of a call in flight is told that the server was quarantined, and that the call may
// have been executed.
func TestCallHearsThatItsServerIsQuarantined(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.watchable()
		r.attach("one")
		x := r.call("one")
		p.Expect("tools/call")
		r.send(client.Stop{Why: client.EndedByOperator(true, "abcdefgh")})
		r.WaitIdle()
		err := r.outcome(x).Err
		if err == nil || !strings.Contains(err.Error(),
			"is quarantined; it may have executed the request") ||
			!errors.Is(err, protocol.ConditionUpstreamQuarantined) {
			t.Errorf("the call: %v", err)
		}
	})
}
