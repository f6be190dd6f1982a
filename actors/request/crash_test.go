package request_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/internal/fault"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// S4-100, S4-118: exchanges survive a crash of the manager with their deadlines, also the one whose
// message caused the crash, and their outcomes reach their clients.
func TestCrashTakesNoExchange(t *testing.T) {
	run(t, func(r *rig) {
		hit, hitOut := r.submit("s")
		other, otherOut := r.submit("s")
		time.Sleep(5 * time.Second)
		r.Break("manager", "*request.ExtendDeadline")
		r.send(&request.ExtendDeadline{ID: hit.ID, For: time.Hour})
		r.WaitIdle()
		if got := r.Ref("manager").Incarnation(); got != 2 {
			r.T.Fatalf("incarnation %d, want 2", got)
		}
		if hitOut.Word() != "none" || len(r.pending(request.PendingQuery{})) != 2 {
			t.Errorf("got %v, %d in flight", hitOut.Word(), len(r.pending(request.PendingQuery{})))
		}
		r.complete(other, `{"after":"crash"}`)
		if otherOut.Word() != "result" {
			t.Errorf("the other: %v", otherOut.All())
		}
		time.Sleep(5 * time.Second)
		if hitOut.Word() != int64(-32009) {
			t.Errorf("at the deadline from before the crash: got %v", hitOut.Word())
		}
		if len(r.done()) != 2 {
			t.Errorf("done: %v, want each once", r.done())
		}
	})
}

// A request that crashes the manager before the manager has accepted it gets an error at once. Its
// session is told of the end, so that the request does not count against the session's bound for
// ever.
func TestCrashOnARequestAnswersIt(t *testing.T) {
	run(t, func(r *rig) {
		r.Break("manager", "*request.Submit")
		x, out := r.submit("s")
		if out.Word() != int64(-32603) || len(r.done()) != 1 || r.done()[0] != x.ID ||
			len(r.written()) != 0 {
			t.Errorf("got %v, done %v, forwarded %v", out.All(), r.done(), r.written())
		}
		if _, out := r.submit("s"); out.Word() != "none" || len(r.written()) != 1 {
			t.Errorf("the next: %v, %d forwarded", out.All(), len(r.written()))
		}
	})
}

// A message that ends an exchange is sent only once, and is not lost when the manager crashes on
// it: the next incarnation handles it. One message crashes two incarnations at most.
func TestWhatEndsAnExchangeOutlivesACrash(t *testing.T) {
	for kind, say := range map[string]func(r *rig, x *request.Exchange) error{
		"*request.Cancel": func(r *rig, x *request.Exchange) error {
			return r.Ref("manager").Send(request.NewCancel(r.Ref("manager"), x.ID))
		},
		"*request.CancelOwner": func(r *rig, x *request.Exchange) error {
			return r.Ref("manager").Send(request.NewCancelOwner(r.Ref("manager"), x.Session))
		},
		"*request.RestoreDeadline": func(r *rig, x *request.Exchange) error {
			return r.Ref("manager").Send(request.NewRestoreDeadline(r.Ref("manager"), x.ID))
		},
	} {
		for _, crashes := range []int{1, 3} {
			run(t, func(r *rig) {
				x, out := r.submit("s")
				if kind == "*request.RestoreDeadline" {
					r.send(&request.ExtendDeadline{ID: x.ID, For: time.Hour})
				}
				for range crashes {
					r.Break("manager", kind)
				}
				if err := say(r, x); err != nil {
					r.T.Fatal(err)
				}
				if r.WaitIdle(); kind == "*request.RestoreDeadline" {
					time.Sleep(11 * time.Second)
				}
				if ended := out.Word() != "none"; ended != (crashes == 1) ||
					len(r.done()) != map[bool]int{true: 1}[ended] {
					t.Errorf("%s, %d crashes: got %v, done %v", kind, crashes, out.All(), r.done())
				}
				if got := r.Ref("manager").Incarnation(); got != uint64(1+min(crashes, 2)) {
					t.Errorf("%s, %d crashes: incarnation %d", kind, crashes, got)
				}
			})
		}
	}
}

// A request on which the manager crashes or hangs before accepting it does not count as in flight
// for ever.
func TestCrashBeforeARequestIsTakenCountsNothing(t *testing.T) {
	run(t, func(r *rig) {
		stall := make(chan struct{})
		r.stalls.Store(&stall)
		_, out := r.submit("s")
		r.stalls.Store(nil)
		time.Sleep(otp.DefaultHardTimeout + 200*time.Millisecond)
		if n := r.inFlight(); n != 0 || out.Word() != int64(-32603) {
			t.Errorf("%v in flight, got %v", n, out.All())
		}
		close(stall)
		r.WaitIdle()
		_, out = r.submit("s")
		if n := r.inFlight(); n != 1 || out.Word() != "none" {
			t.Errorf("the next: %v in flight, got %v", n, out.All())
		}
		r.send(&request.CancelOwner{Session: "s"})
		if n := r.inFlight(); n != 0 {
			t.Errorf("at the end: %v in flight", n)
		}
	})
}

// A deadline that falls on a crash is kept by the next incarnation.
func TestDeadlineOutlivesItsTimer(t *testing.T) {
	run(t, func(r *rig) {
		_, out := r.submit("s")
		r.Break("manager", "request.expire")
		time.Sleep(10 * time.Second)
		r.WaitIdle()
		if r.Ref("manager").Incarnation() != 2 || out.Word() != int64(-32009) {
			t.Errorf("incarnation %d, got %v", r.Ref("manager").Incarnation(), out.All())
		}
	})
}

// fragile is a sink that crashes the first goroutine that delivers an outcome.
type fragile struct {
	testrig.Sink
	crashed bool
}

func (s *fragile) Finish(m jsonrpc.Message) bool {
	if !s.crashed {
		s.crashed = true
		panic("asked to")
	}
	return s.Sink.Finish(m)
}

// Several exchanges are due at once, and the manager crashes on the first of them. All get their
// outcome, and their session is told of each.
func TestCrashAmongSeveralEndsLosesNone(t *testing.T) {
	run(t, func(r *rig) {
		brittle := &fragile{}
		r.next++
		r.send(&request.Submit{Exchange: &request.Exchange{
			ID: r.next, Session: "s", Owner: r.Ref("owner"), Version: protocol.V20251125,
			Downstream: jsonrpc.IntID(1), Server: "files",
			Upstream: r.Ref("conn"), Method: "tools/call", Arrived: time.Now(), Timeout: 10 * time.Second,
			Sink: brittle,
		}})
		_, second := r.submit("s")
		_, third := r.submit("s")
		time.Sleep(10 * time.Second)
		r.WaitIdle()
		if got := r.Ref("manager").Incarnation(); got != 2 {
			r.T.Fatalf("incarnation %d, want 2", got)
		}
		for i, out := range []*testrig.Sink{&brittle.Sink, second, third} {
			if out.Word() != int64(-32009) {
				t.Errorf("%d: %v", i, out.All())
			}
		}
		if got := len(r.done()); got != 3 || len(r.pending(request.PendingQuery{})) != 0 {
			t.Errorf("%d done, %v in flight", got, r.pending(request.PendingQuery{}))
		}
		if got := len(r.withdrawn()); got != 3 {
			t.Errorf("%d withdrawn", got)
		}
	})
}

// client is the owner of an exchange. It outlives the tree.
type client struct{ testrig.Log }

func (c *client) Send(msg any) error { c.Add(msg); return nil }

// Exchanges that end with their manager end for their session and in the metrics too: none still
// counts as in flight.
func TestEndOfTheManagerEndsItsExchanges(t *testing.T) {
	for name, end := range map[string]func(r *rig){
		"stopped": func(r *rig) { _ = r.Tree.Shutdown(r.T.Context()) },
		"past its budget": func(r *rig) {
			f := fault.Fault{
				Action: fault.Panic, Point: fault.Point{Path: "top/manager"}, Count: 2000, Lease: time.Minute,
			}
			if _, err := r.Faults.Arm(f); err != nil {
				r.T.Fatal(err)
			}
			for r.Ref("manager").Send(&request.ExtendDeadline{}) == nil {
				r.WaitIdle()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				owner, outs := &client{}, []*testrig.Sink{{}, {}}
				for i, out := range outs {
					r.send(&request.Submit{Exchange: &request.Exchange{
						ID: uint64(i), Session: "s", Owner: owner, Version: protocol.V20251125,
						Downstream: jsonrpc.IntID(1), Server: "files",
						Upstream: r.Ref("conn"), Method: "tools/call", Arrived: time.Now(), Timeout: 10 * time.Second,
						Sink: out,
					}})
				}
				end(r)
				for i, out := range outs {
					if out.Word() != int64(-32008) {
						t.Errorf("%d: got %v", i, out.All())
					}
				}
				if got := len(testrig.Of[request.Done](&owner.Log)); got != len(outs) {
					t.Errorf("%d done, want each once", got)
				}
				if got := r.inFlight(); got != 0 {
					t.Errorf("%v count as in flight", got)
				}
			})
		})
	}
}

// A manager that crashes on its carried state starts without it. Every exchange has got an outcome
// that says that it may have been executed, and the new incarnation starts empty.
func TestManagerStartsWithoutExchangesItCannotLiveWith(t *testing.T) {
	run(t, func(r *rig) {
		_, first := r.submit("s")
		_, second := r.submit("s")
		r.DropsState("manager", "*request.ExtendDeadline", func() { r.send(&request.ExtendDeadline{}) })
		for i, out := range []*testrig.Sink{first, second} {
			if len(out.All()) != 1 || out.Word() != int64(-32008) {
				t.Errorf("%d: got %v", i, out.All())
			}
		}
		if len(r.done()) != 2 || len(r.pending(request.PendingQuery{})) != 0 || r.inFlight() != 0 {
			t.Errorf("%d done, %v in flight, %v counted", len(r.done()), r.pending(request.PendingQuery{}),
				r.inFlight())
		}
		x, out := r.submit("s")
		if r.complete(x, `{}`); out.Word() != "result" {
			t.Errorf("the next: %v", out.All())
		}
	})
}

// hopeless is a sink, and a renamer, that crashes every caller.
type hopeless struct {
	testrig.Sink
}

func (*hopeless) Finish(jsonrpc.Message) bool         { panic("asked to") }
func (*hopeless) Error(jsontext.Value) jsontext.Value { panic("asked to") }

func (*hopeless) Result(result jsontext.Value) jsontext.Value { return result }

// An exchange whose outcome cannot be delivered, or not be translated for the client, leaves
// nothing behind. Its client gets the part that can be delivered.
func TestOutcomeThatCrashesLeavesNothing(t *testing.T) {
	for name, sound := range map[string]bool{"its words": true, "its sink": false} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				h, sink := &hopeless{}, &testrig.Sink{}
				x := &request.Exchange{
					ID: 99, Session: "s", Owner: r.Ref("owner"), Version: protocol.V20251125,
					Downstream: jsonrpc.IntID(1), Server: "files", Upstream: r.Ref("conn"), Method: "tools/call",
					Arrived: time.Now(), Timeout: time.Minute, Sink: h, Names: h,
				}
				if sound {
					x.Sink = sink
				}
				r.send(&request.Submit{Exchange: x})
				r.WaitIdle()
				func() {
					defer func() { _ = recover() }()
					x.Settle(request.Outcome{
						Err: &jsonrpc.Error{Code: 1, Message: "no", Data: jsontext.Value(`{}`)},
					})
				}()
				if r.WaitIdle(); len(r.pending(request.PendingQuery{})) != 0 || len(r.done()) != 1 {
					t.Errorf("%v in flight, %d told", r.pending(request.PendingQuery{}), len(r.done()))
				}
				if got := sink.Word(); sound && got != int64(-32603) {
					t.Errorf("its client hears %v", got)
				}
			})
		})
	}
}
