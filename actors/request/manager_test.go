package request_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// S4-59, S4-60, S4-69: an exchange is forwarded, and its response goes to its own sink under the
// client's own id. A second response is dropped and counted.
func TestExchangeHasOneOutcome(t *testing.T) {
	run(t, func(r *rig) {
		x, out := r.submit("s")
		other, otherOut := r.submit("s")
		if len(r.written()) != 2 || r.written()[0] != x || r.written()[1] != other {
			r.T.Fatalf("forwarded: %v", r.written())
		}
		r.complete(other, `{"which":"other"}`)
		r.complete(x, `{"which":"first"}`)
		if r.complete(x, `{"which":"second"}`) || x.Lateness() != "duplicate" {
			t.Errorf("a second outcome is taken, or called %q", x.Lateness())
		}
		if len(out.All()) != 1 || string(out.All()[0].Result) != `{"which":"first"}` ||
			out.All()[0].ID != jsonrpc.IntID(1) {
			t.Errorf("outcome: %v", out.All())
		}
		if len(otherOut.All()) != 1 || string(otherOut.All()[0].Result) != `{"which":"other"}` {
			t.Errorf("the other's: %v", otherOut.All())
		}
		if !slices.Equal(r.done(), []uint64{other.ID, x.ID}) {
			t.Errorf("done %v", r.done())
		}
	})
}

// S4-60: an error from a server passes unchanged, and one of the host is translated for the
// client's revision.
func TestErrorsReachTheClient(t *testing.T) {
	run(t, func(r *rig) {
		answered := &jsonrpc.Error{Code: -32042, Message: "theirs"}
		x, out := r.submit("s")
		x.Settle(request.Outcome{Err: answered})
		y, own := r.submit("s")
		y.Settle(request.Outcome{Err: protocol.UpstreamLost("files", true, nil)})
		if out.Word() != int64(-32042) || out.All()[0].Error.Message != "theirs" {
			t.Errorf("theirs: %v", out.All())
		}
		if own.Word() != int64(-32008) ||
			!strings.Contains(string(own.All()[0].Error.Data), `"maybeExecuted":true`) {
			t.Errorf("ours: %v", own.All())
		}
		if first, second := <-r.codes, <-r.codes; first != -32042 || second != -32008 {
			t.Errorf("counted: %d, %d", first, second)
		}
	})
}

// S4-54 to S4-56, S4-79: a client that gets no response in time gets an error. The server is told,
// and a later response is dropped.
func TestDeadlineEndsAnExchange(t *testing.T) {
	run(t, func(r *rig) {
		x, out := r.submit("s")
		time.Sleep(10*time.Second - time.Millisecond)
		if out.Word() != "none" {
			r.T.Fatalf("before its deadline: %v", out.All())
		}
		time.Sleep(time.Millisecond)
		if out.Word() != int64(-32009) ||
			!strings.Contains(string(out.All()[0].Error.Data), `"maybeExecuted":true,"retryable":false`) {
			t.Errorf("at its deadline: %v", out.All())
		}
		if len(r.withdrawn()) != 1 ||
			*r.withdrawn()[0] != (request.Withdraw{ID: x.ID, Reason: "timeout"}) {
			t.Errorf("withdrawn: %v", r.withdrawn())
		}
		taken := r.complete(x, `{}`)
		if taken || x.Lateness() != "late" || len(out.All()) != 1 || len(r.done()) != 1 {
			t.Errorf("later: %v, called %q, done %v", out.All(), x.Lateness(), r.done())
		}
	})
}

// Progress restarts the time-out, up to the total time of a call.
func TestProgressPostponesTheDeadline(t *testing.T) {
	run(t, func(r *rig) {
		x, out := r.submit("s")
		start := time.Now()
		for range 10 {
			if out.Word() != "none" {
				break
			}
			time.Sleep(9 * time.Second)
			x.Progressed(time.Now())
		}
		if took := time.Since(start); out.Word() != int64(-32009) || took < 30*time.Second ||
			took > 40*time.Second {
			t.Errorf("got %v after %v, want a timeout at 30 s", out.Word(), took)
		}
	})
}

// A call that waits for its user gets that time in addition to its own.
func TestParkedExchangeWaitsForItsUser(t *testing.T) {
	run(t, func(r *rig) {
		x, out := r.submit("s")
		r.send(&request.ExtendDeadline{ID: x.ID, For: 5 * time.Minute})
		time.Sleep(4 * time.Minute)
		r.send(&request.RestoreDeadline{ID: x.ID})
		time.Sleep(9 * time.Second)
		if out.Word() != "none" {
			t.Errorf("after its user has answered: %v", out.All())
		}
		time.Sleep(2 * time.Second)
		if out.Word() != int64(-32009) {
			t.Errorf("got %v, want a timeout", out.Word())
		}

		y, out := r.submit("s")
		r.send(&request.ExtendDeadline{ID: y.ID, For: time.Minute})
		time.Sleep(time.Minute)
		if out.Word() != int64(-32009) {
			t.Errorf("a user who never answers: got %v, want a timeout", out.Word())
		}
	})
}

// S4-61, S0-59: a cancelled request ends without a response, and the server is told. Cancelling
// again does nothing.
func TestCancelEndsAnExchangeWithoutAnAnswer(t *testing.T) {
	run(t, func(r *rig) {
		x, out := r.submit("s")
		r.send(&request.Cancel{ID: x.ID})
		r.send(&request.Cancel{ID: x.ID})
		if out.Word() != "cancelled" || len(out.All()) != 1 || len(r.done()) != 1 {
			t.Errorf("got %v, done %v", out.All(), r.done())
		}
		if len(r.withdrawn()) != 1 || r.withdrawn()[0].Reason != "cancelled by the client" {
			t.Errorf("withdrawn: %v", r.withdrawn())
		}
	})
}

// A session that ends takes its own exchanges along and no others. A client that still waits is
// told that the session is gone, and that the server may have executed the request.
func TestSessionThatEndsCancelsItsOwn(t *testing.T) {
	run(t, func(r *rig) {
		_, a := r.submit("ends")
		_, b := r.submit("stays")
		_, c := r.submit("ends")
		r.send(&request.CancelOwner{Session: "ends"})
		if a.Word() != int64(-32602) || b.Word() != "none" || c.Word() != int64(-32602) {
			t.Errorf("got %v, %v, %v", a.Word(), b.Word(), c.Word())
		}
		if data := string(a.All()[0].Error.Data); !strings.Contains(data,
			`"maybeExecuted":true,"retryable":false`) {
			t.Errorf("its server has the request, but it is told %s", data)
		}
	})
}

// S4-57, S4-131: beyond its bound the manager refuses requests, at once, and accepts them again as
// soon as one ends.
func TestFullManagerRefuses(t *testing.T) {
	run(t, func(r *rig) {
		first, _ := r.submit("s")
		r.submit("s")
		r.submit("s")
		fourth, out := r.submit("s")
		if out.Word() != int64(-32010) || !slices.Contains(r.done(), fourth.ID) || len(r.written()) != 3 {
			t.Errorf("got %v, done %v, %d forwarded", out.All(), r.done(), len(r.written()))
		}
		if told := testrig.Of[telemetry.Rejected](&r.Events); len(told) != 1 ||
			told[0].Where.Tenant != "acme" || told[0].Reason == "" {
			t.Errorf("events: %v, want one that says so", told)
		}
		r.complete(first, `{}`)
		if _, out := r.submit("s"); out.Word() != "none" {
			t.Errorf("with room again: %v", out.All())
		}
	})
}

// A principal may have a bounded number of requests in flight, from the time when the bound is
// configured, and also after a crash. Each principal has its own bound.
func TestPrincipalIsBounded(t *testing.T) {
	run(t, func(r *rig) {
		r.principal = "ann"
		first, _ := r.submit("s")
		r.each.Store(1)
		second, out := r.submit("t")
		if got := out.All(); out.Word() != int64(-32010) ||
			protocol.RetryAfter(got[0].Error) != time.Second || !slices.Contains(r.done(), second.ID) {
			t.Errorf("one too many: %v, done %v", got, r.done())
		}
		if told := testrig.Of[telemetry.Rejected](&r.Events); len(told) != 1 ||
			told[0].Reason != "rate_limited" {
			t.Errorf("events: %v, want one that says so", told)
		}
		r.principal = "bob"
		if _, out := r.submit("s"); out.Word() != "none" {
			t.Errorf("another: %v", out.All())
		}
		r.principal = "ann"
		r.complete(first, `{}`)
		third, out := r.submit("s")
		if out.Word() != "none" {
			t.Errorf("with room again: %v", out.All())
		}
		r.Break("manager", "*request.ExtendDeadline")
		r.send(&request.ExtendDeadline{})
		r.WaitIdle()
		if _, out := r.submit("s"); out.Word() != int64(-32010) {
			t.Errorf("one too many after a crash: %v", out.All())
		}
		r.complete(third, `{}`)
		r.each.Store(0)
		r.submit("s")
		if _, out := r.submit("s"); out.Word() != "none" {
			t.Errorf("without a bound: %v", out.All())
		}
	})
}

// The bytes of a tenant's requests in flight are bounded too, also after a crash of the manager.
// One request passes whatever its size.
func TestBytesInFlightAreBounded(t *testing.T) {
	run(t, func(r *rig) {
		huge, out := r.large(5000)
		if out.Word() != "none" {
			t.Fatalf("the only one: %v", out.All())
		}
		if _, out := r.submit("s"); out.Word() != int64(-32010) ||
			protocol.RetryAfter(out.Outcome().Error) == 0 {
			t.Errorf("one beside it: %v", out.All())
		}
		r.complete(huge, `{}`)
		r.large(600)
		r.Break("manager", "*request.ExtendDeadline")
		r.send(&request.ExtendDeadline{})
		r.Struck()
		if _, out := r.large(500); out.Word() != int64(-32010) {
			t.Errorf("more than there is room for: %v", out.All())
		}
		if _, out := r.large(400); out.Word() != "none" {
			t.Errorf("as much as there is room for: %v", out.All())
		}
		if got := r.kept.Account("acme").Total(); got != 1000 {
			t.Errorf("%d bytes count for the tenant", got)
		}
		for _, x := range r.written() {
			r.complete(x, `{}`)
		}
		r.WaitIdle()
		if got := r.kept.Account("acme").Holding(); got.Kept != 0 || got.Refused != 2 {
			t.Errorf("when all have their outcome: %+v", got)
		}
		if told := testrig.Of[telemetry.Rejected](&r.Events); len(told) != 2 ||
			told[0].Reason != "overloaded" {
			t.Errorf("events: %v, want two that say so", told)
		}
	})
}

// However an exchange ends, it releases the bytes that it has reserved.
func TestBytesAreGivenBackHoweverAnExchangeEnds(t *testing.T) {
	for name, end := range map[string]func(r *rig, x *request.Exchange){
		"result": func(r *rig, x *request.Exchange) { r.complete(x, `{}`) },
		"error": func(r *rig, x *request.Exchange) {
			x.Settle(request.Outcome{Err: protocol.SessionGone()})
		},
		"cancelled": func(r *rig, x *request.Exchange) { r.send(&request.Cancel{ID: x.ID}) },
		"session ended": func(r *rig, x *request.Exchange) {
			r.send(&request.CancelOwner{Session: x.Session})
		},
		"deadline":   func(*rig, *request.Exchange) { time.Sleep(time.Minute) },
		"host stops": func(r *rig, _ *request.Exchange) { r.send(&request.Stop{}) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				x, _ := r.large(600)
				if got := r.reserved(); got != 600 {
					t.Errorf("%d bytes are reserved while it is in flight, want 600", got)
				}
				if _, refused := r.large(600); refused.Word() != int64(-32010) {
					t.Errorf("one too many: %v", refused.All())
				}
				end(r, x)
				r.WaitIdle()
				if got := r.reserved(); got != 0 {
					t.Errorf("%d bytes are reserved afterwards", got)
				}
			})
		})
	}
}

// S4-58, S4-62: the exchanges in flight can be listed, oldest first, of all sessions or of one.
func TestPendingIsListed(t *testing.T) {
	run(t, func(r *rig) {
		a, _ := r.submit("one")
		time.Sleep(time.Second)
		b, _ := r.submit("two")
		all := r.pending(request.PendingQuery{})
		if len(all) != 2 || all[0].ID != a.ID || all[1].ID != b.ID || all[0].Method != "tools/call" ||
			all[0].Server != "files" {
			t.Errorf("all: %v", all)
		}
		if got := all[0].Deadline.Sub(all[0].Started); got != 10*time.Second {
			t.Errorf("deadline after %v", got)
		}
		if one := r.pending(request.PendingQuery{Session: "two"}); len(one) != 1 ||
			one[0].Session != "two" {
			t.Errorf("of one session: %v", one)
		}
	})
}

// A connection that does not exist, or ends before it handles a request, never had it: the client
// may retry. A connection that crashed on the request may have sent it.
func TestForwardThatFailsSaysWhetherItMayHaveBeenExecuted(t *testing.T) {
	run(t, func(r *rig) {
		r.Break("conn", "*request.Forward")
		_, crashed := r.submit("s")
		if got := crashed.Word(); got != int64(-32008) ||
			!strings.Contains(string(crashed.All()[0].Error.Data), `"maybeExecuted":true`) {
			t.Errorf("crashed on it: %v", crashed.All())
		}
		r.Break("conn", "*request.Forward")
		r.queues = true
		_, before := r.submit("s")
		if got := before.Word(); got != int64(-32008) ||
			!strings.Contains(string(before.All()[0].Error.Data), `"maybeExecuted":false`) {
			t.Errorf("crashed before it wrote: %v", before.All())
		}
		r.Send("conn", otp.Normal)
		_, gone := r.submit("s")
		if got := gone.Word(); got != int64(-32008) ||
			!strings.Contains(string(gone.All()[0].Error.Data), `"maybeExecuted":false`) {
			t.Errorf("not there: %v", gone.All())
		}
		if got := r.pending(request.PendingQuery{}); len(got) != 0 {
			t.Errorf("still in flight: %v", got)
		}
	})
}

// S4-71: no exchange is left without an outcome when the manager stops for good.
func TestStopAnswersEverything(t *testing.T) {
	run(t, func(r *rig) {
		_, a := r.submit("s")
		_, b := r.submit("s")
		if err := r.Tree.Shutdown(r.T.Context()); err != nil {
			t.Error(err)
		}
		for _, out := range []*testrig.Sink{a, b} {
			if out.Word() != int64(-32008) {
				t.Errorf("got %v", out.All())
			}
		}
	})
}

// A host that shuts down tells the waiting clients, and the servers.
func TestStopEndsWhatIsInFlight(t *testing.T) {
	run(t, func(r *rig) {
		x, out := r.submit("s")
		r.send(&request.Stop{})
		r.send(&request.Stop{})
		if got := out.Word(); got != int64(-32008) || len(out.All()) != 1 {
			r.T.Fatalf("got %v", out.All())
		}
		if e := out.All()[0].Error; !strings.Contains(e.Message, "stopping") ||
			!strings.Contains(string(e.Data), `"maybeExecuted":true`) {
			t.Errorf("got %s %s", e.Message, e.Data)
		}
		if len(r.withdrawn()) != 1 ||
			*r.withdrawn()[0] != (request.Withdraw{ID: x.ID, Reason: "stopping"}) {
			t.Errorf("withdrawn: %v", r.withdrawn())
		}
	})
}
