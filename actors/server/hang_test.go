package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// notificationTarget describes all messages that servers and clients have received, and the
// requests in flight: one line for each.
type notificationTarget struct {
	r     *rig
	users []*user
	outs  []*testrig.Sink
}

func (s notificationTarget) String() string {
	var b strings.Builder
	for i, p := range testrig.Of[*peer](&s.r.dialled) {
		fmt.Fprintf(&b, "\nserver %d:", i)
		for _, m := range testrig.Of[jsonrpc.Message](&p.got) {
			fmt.Fprintf(&b, " %s%s", m.Method, m.ID.Raw())
		}
	}
	for i, u := range s.users {
		fmt.Fprintf(&b, "\nclient %d:", i)
		for _, m := range u.heard("") {
			fmt.Fprintf(&b, " %s", m.Method)
		}
	}
	for i, out := range s.outs {
		fmt.Fprintf(&b, "\nrequest %d: %d sent, then %v", i, len(out.Sent()), out.Word())
	}
	inFlight, err := testrig.Ask[request.PendingQuery, []request.Info](s.r.Rig, "requests",
		request.PendingQuery{})
	fmt.Fprintf(&b, "\nin flight: %d %v", len(inFlight), err)
	return b.String()
}

// hang is a component that hangs at the start of a message, and later continues with it.
type hang struct {
	name string
	at   string // its name in the rig
	kind string // of the message
	// do causes the message. It returns the requests whose outcomes are checked.
	do func(r *rig, u *user, p *peer, out *testrig.Sink) []*testrig.Sink
}

// hangs has a row for each class of actor, and for each kind of late effect.
var hangs = []hang{
	{"a session with a call", "session", "*session.Deliver",
		func(_ *rig, u *user, _ *peer, _ *testrig.Sink) []*testrig.Sink {
			return []*testrig.Sink{u.call()}
		}},
	{"a session with a request that it answers", "session", "*session.Deliver",
		func(_ *rig, u *user, _ *peer, _ *testrig.Sink) []*testrig.Sink {
			return []*testrig.Sink{u.ask("ping", "")}
		}},
	{"a session with a cancellation", "session", "*session.Deliver",
		func(_ *rig, u *user, _ *peer, _ *testrig.Sink) []*testrig.Sink {
			u.tell("notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, u.id))
			return nil
		}},
	{"a session with a client that leaves", "session", "*session.Abandoned",
		func(_ *rig, u *user, _ *peer, out *testrig.Sink) []*testrig.Sink {
			u.h.Cancel(out)
			return nil
		}},
	{"a session with a question", "session", "*client.Question",
		func(_ *rig, _ *user, p *peer, _ *testrig.Sink) []*testrig.Sink {
			p.Ask(jsonrpc.IntID(1), "elicitation/create", `{"message":"name?"}`)
			return nil
		}},
	{"a session with an answer", "session", "*session.Deliver",
		func(_ *rig, u *user, p *peer, out *testrig.Sink) []*testrig.Sink {
			p.Ask(jsonrpc.IntID(1), "elicitation/create", `{"message":"name?"}`)
			u.answer(out.Sent()[0].ID, yes)
			return nil
		}},
	{"a session with an announcement", "session", "*notification.Notice",
		func(r *rig, _ *user, p *peer, _ *testrig.Sink) []*testrig.Sink {
			p.Notify("notifications/tools/list_changed", `{}`)
			r.announced()
			return nil
		}},
	{"the request manager with a call", "requests", "*request.Submit",
		func(_ *rig, u *user, _ *peer, _ *testrig.Sink) []*testrig.Sink {
			return []*testrig.Sink{u.call()}
		}},
	{"the request manager with a cancellation", "requests", "*request.Cancel",
		func(_ *rig, u *user, _ *peer, _ *testrig.Sink) []*testrig.Sink {
			u.tell("notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, u.id))
			return nil
		}},
	{"the dispatcher with an announcement", "notices", "*notification.Dispatch",
		func(_ *rig, _ *user, p *peer, _ *testrig.Sink) []*testrig.Sink {
			p.Notify("notifications/resources/updated", `{"uri":"test://x"}`)
			return nil
		}},
	{"the dispatcher as it delivers", "notices", "notification.drain",
		func(_ *rig, _ *user, p *peer, _ *testrig.Sink) []*testrig.Sink {
			p.Notify("notifications/resources/updated", `{"uri":"test://x"}`)
			return nil
		}},
	{"the catalogue that starts a connection", "catalog",
		"*otp.Call[mcpd/actors/catalog.ConnectRequest,mcpd/supervisor/otp.Ref]",
		func(r *rig, _ *user, _ *peer, _ *testrig.Sink) []*testrig.Sink {
			other := r.open("other", "")
			other.shake(`{}`)
			return []*testrig.Sink{other.ask("tools/call", `{"name":"search__find"}`)}
		}},
	{"the catalogue with news of a server", "catalog", "*client.Report",
		func(r *rig, _ *user, p *peer, _ *testrig.Sink) []*testrig.Sink {
			r.script["files"]["tools/list"] = result(`{"tools":[]}`)
			p.Notify("notifications/tools/list_changed", `{}`)
			time.Sleep(time.Second)
			return nil
		}},
	{"a connection with a call", "connection", "*request.Forward",
		func(_ *rig, u *user, _ *peer, _ *testrig.Sink) []*testrig.Sink {
			return []*testrig.Sink{u.call()}
		}},
	{"a connection with an answer", "connection", "client.inbound",
		func(_ *rig, _ *user, p *peer, _ *testrig.Sink) []*testrig.Sink {
			p.refuse("tools/call")
			return nil
		}},
	{"a connection with a question", "connection", "client.inbound",
		func(_ *rig, _ *user, p *peer, _ *testrig.Sink) []*testrig.Sink {
			p.Ask(jsonrpc.IntID(1), "elicitation/create", `{"message":"name?"}`)
			return nil
		}},
	{"a connection with an announcement", "connection", "client.inbound",
		func(_ *rig, _ *user, p *peer, _ *testrig.Sink) []*testrig.Sink {
			p.Notify("notifications/resources/updated", `{"uri":"test://x"}`)
			return nil
		}},
	{"a connection with a withdrawal", "connection", "*request.Withdraw",
		func(_ *rig, u *user, _ *peer, _ *testrig.Sink) []*testrig.Sink {
			u.tell("notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, u.id))
			return nil
		}},
	{"a connection whose server ends", "connection", "otp.Done",
		func(_ *rig, _ *user, p *peer, _ *testrig.Sink) []*testrig.Sink {
			p.Close()
			return nil
		}},
}

// ADR 22: an actor that hung and was replaced continues with its message, but no client and no
// server notices it.
func TestWhoHungSaysNothingMore(t *testing.T) {
	for _, h := range hangs {
		t.Run(h.name, func(t *testing.T) {
			run(t, silent, func(r *rig) {
				u, out, p := asking(r)
				u.ask("resources/subscribe", `{"uri":"test://x"}`)
				u.id-- // back to the id of the call
				s := notificationTarget{r: r, users: []*user{u}, outs: []*testrig.Sink{out}}
				letGo := r.Stalls.Arm(h.at, h.kind)
				s.outs = append(s.outs, h.do(r, u, p, out)...)
				r.WaitIdle()
				if r.Stalls.Armed() {
					t.Fatal("it has not hung")
				}
				time.Sleep(otp.DefaultHardTimeout + 10*time.Second)
				before := s.String()
				if r.System.Isolated() != 1 {
					t.Fatalf("%d hung", r.System.Isolated())
				}
				letGo()
				time.Sleep(time.Second)
				if after := s.String(); r.System.Isolated() != 0 || after != before {
					t.Errorf("%d hung; before it went on: %s\nand after: %s", r.System.Isolated(), before, after)
				}
				again := u.ask("ping", "")
				if again.Word() != "result" {
					t.Errorf("its successor: %v", again.All())
				}
			})
		})
	}
}

// Subscriptions and log levels of clients are requested again by the connection that replaces one
// that hung, whether or not that continues.
func TestWantsOutliveAConnectionThatHung(t *testing.T) {
	run(t, silent, func(r *rig) {
		u, out, p := asking(r)
		u.ask("resources/subscribe", `{"uri":"test://x"}`)
		u.ask("logging/setLevel", `{"level":"error"}`)
		letGo := r.Stalls.Arm("connection", "client.inbound")
		p.refuse("tools/call")
		time.Sleep(otp.DefaultHardTimeout + 10*time.Second)
		next := r.latest("files")
		if a, b := len(next.heard("resources/subscribe")), len(next.heard("logging/setLevel")); a != 1 ||
			b != 1 || out.Word() == "none" {
			t.Errorf("subscribed %d times, told of the level %d times, the call %v", a, b, out.Word())
		}
		u.ask("resources/unsubscribe", `{"uri":"test://x"}`)
		letGo()
		time.Sleep(time.Second)
		if got := len(next.heard("resources/subscribe")); got != 1 {
			t.Errorf("what is not wanted any more is subscribed to again by who comes back: %d times", got)
		}
	})
}

// The questions of servers to the client of a session that hangs are refused as soon as the
// session's actor is replaced, and the call no longer waits for its user. Nothing happens twice
// when the old actor continues.
func TestQuestionOfASessionThatHungIsRefused(t *testing.T) {
	for name, hang := range map[string]func(r *rig, u *user, p *peer, out *testrig.Sink){
		"with the answer": func(_ *rig, u *user, _ *peer, out *testrig.Sink) {
			u.answer(out.Sent()[0].ID, yes)
		},
		"with a call": func(_ *rig, u *user, _ *peer, _ *testrig.Sink) { u.ask("ping", "") },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, silent, func(r *rig) {
				u, out, p := asking(r)
				p.Ask(jsonrpc.IntID(1), "elicitation/create", `{"message":"name?"}`)
				r.WaitIdle()
				letGo := r.Stalls.Arm("session", "*session.Deliver")
				hang(r, u, p, out)
				time.Sleep(otp.DefaultHardTimeout + 10*time.Second)
				check := func() {
					t.Helper()
					if got := p.answers(); len(got) != 1 || got[0].Error == nil || got[0].ID != jsonrpc.IntID(1) {
						t.Errorf("the server heard %v", got)
					}
					if got := u.heard("notifications/cancelled"); len(got) != 1 {
						t.Errorf("the client heard %v", got)
					}
				}
				check()
				time.Sleep(r.tenant.Limits.CallTimeout - 12*time.Second)
				if out.Word() != "none" {
					t.Errorf("ended before its time: %v", out.All())
				}
				time.Sleep(4 * time.Second)
				if out.Word() == "none" {
					t.Error("the call waits for its user")
				}
				letGo()
				time.Sleep(time.Second)
				check()
			})
		})
	}
}

// A session's actor that hung on an answer, and continues, does not end the deadline extension that
// its successor's question has caused.
func TestWhoHungUnparksNothingOfItsSuccessor(t *testing.T) {
	run(t, silent, func(r *rig) {
		u, out, p := asking(r)
		p.Ask(jsonrpc.IntID(1), "elicitation/create", `{"message":"name?"}`)
		r.WaitIdle()
		letGo := r.Stalls.Arm("session", "*session.Deliver")
		u.answer(out.Sent()[0].ID, yes)
		time.Sleep(otp.DefaultHardTimeout + 10*time.Second)
		p.Ask(jsonrpc.IntID(2), "elicitation/create", `{"message":"age?"}`)
		r.WaitIdle()
		letGo()
		time.Sleep(r.tenant.Limits.CallTimeout + time.Second)
		if out.Word() != "none" {
			t.Fatalf("the call has ended: %v", out.All())
		}
		u.answer(out.Sent()[1].ID, yes)
		if got := p.answers(); len(got) != 2 || got[1].ID != jsonrpc.IntID(2) || got[1].Error != nil {
			t.Errorf("the server heard %v", got)
		}
	})
}

// Every class of actors that talks to others is in the table.
func TestEveryClassOfActorsIsHung(t *testing.T) {
	for _, at := range []string{"session", "requests", "notices", "catalog", "connection"} {
		if !slices.ContainsFunc(hangs, func(h hang) bool { return h.at == at }) {
			t.Errorf("%s is not", at)
		}
	}
}
