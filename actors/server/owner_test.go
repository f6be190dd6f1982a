package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

const logs = "notifications/message"

// hears is how many log lines a client got, on the streams of calls or on that of the session.
func hears(u *user, outs ...*testrig.Sink) (n int) {
	n = len(u.heard(logs))
	for _, out := range outs {
		n += len(out.Sent())
	}
	return n
}

// line is a log line that names no call.
func (p *peer) line(text string) {
	p.Notify(logs, `{"level":"error","data":"`+text+`"}`)
}

// sharing sets share_logs: all users of a connection get log lines that may concern another
// principal.
func sharing(r *rig) {
	silent(r)
	r.tenant.Servers[0].ShareLogs = true
}

// A log line on a connection that several principals share reaches the only one that it can
// concern. A line that may concern another principal is dropped and counted, unless the operator
// allows it.
func TestLogLineReachesItsOwner(t *testing.T) {
	run(t, silent, func(r *rig) {
		alice, second, bob := r.as("alice", `{}`), r.as("alice", `{}`), r.as("bob", `{}`)
		idle := r.as("carol", `{}`) // has made no call
		first := alice.call()
		p := r.peer("files")
		p.line("during alice's only call")
		r.WaitIdle()
		if a, others := hears(alice, first), hears(second)+hears(bob)+hears(idle); a != 1 || others != 0 {
			t.Errorf("the only call: alice heard %d, others %d", a, others)
		}
		again := alice.call()
		p.line("during two calls of one session")
		r.WaitIdle()
		if a, others := hears(alice, first, again), hears(second)+hears(bob)+hears(idle); a != 2 ||
			others != 0 {
			t.Errorf("two of one session: alice heard %d, others %d", a, others)
		}
		other := second.call()
		p.line("during calls of two sessions of alice")
		r.WaitIdle()
		if a, b, others := hears(alice, first, again), hears(second, other), hears(bob)+
			hears(idle); a != 3 || b != 1 || others != 0 {
			t.Errorf("two sessions of one principal: heard %d and %d, others %d", a, b, others)
		}
		theirs := bob.call()
		heard := func() string {
			return fmt.Sprint(hears(alice, first, again), hears(second, other), hears(bob, theirs),
				hears(idle))
		}
		before := heard()
		p.line("during calls of two principals")
		for _, m := range p.heard("tools/call") {
			p.send(transport.Inbound{
				Message: jsonrpc.Response(m.ID, jsontext.Value(`{"content":[]}`)), RequestID: m.ID,
			})
		}
		r.WaitIdle()
		p.line("after them")
		r.WaitIdle()
		if after := heard(); after != before {
			t.Errorf("what may be of two: heard %s, before %s", after, before)
		}
		if n := r.dropped("unowned"); n != 2 {
			t.Errorf("%d were counted as dropped, want 2", n)
		}
	})
	run(t, sharing, func(r *rig) {
		alice, bob := r.as("alice", `{}`), r.as("bob", `{}`)
		alice.call()
		bob.call()
		r.peer("files").line("during calls of two principals")
		r.WaitIdle()
		if a, b := hears(alice), hears(bob); a != 1 || b != 1 {
			t.Errorf("with share_logs: alice heard %d, bob %d", a, b)
		}
	})
}

// A server may still work on a cancelled call, so for a while a log line may concern it.
func TestLogLineAfterAWithdrawnCall(t *testing.T) {
	run(t, silent, func(r *rig) {
		alice, bob := r.as("alice", `{}`), r.as("bob", `{}`)
		alice.call()
		p := r.peer("files")
		alice.tell("notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, alice.id))
		out := bob.call()
		p.line("about alice's")
		r.WaitIdle()
		if n := hears(bob, out); n != 0 {
			t.Errorf("bob heard %d", n)
		}
		time.Sleep(client.WithdrawnFor + time.Second)
		p.line("about bob's")
		r.WaitIdle()
		if n := hears(bob, out); n != 1 {
			t.Errorf("later bob heard %d", n)
		}
	})
}

// Modern clients get only the log lines of their own calls, even if several share one peer.
func TestLogLineOfModernCalls(t *testing.T) {
	run(t, silent, func(r *rig) {
		c := r.caller(`{}`)
		c.level = "debug"
		one := c.call()
		p := r.peer("files")
		p.line("during the only call")
		r.WaitIdle()
		if len(one.Sent()) != 1 {
			t.Errorf("the only call heard %v", one.Sent())
		}
		two := c.call()
		p.line("during one of two")
		r.WaitIdle()
		if len(one.Sent()) != 1 || len(two.Sent()) != 0 {
			t.Errorf("heard %v and %v", one.Sent(), two.Sent())
		}
		if n := r.dropped("unowned"); n != 1 {
			t.Errorf("%d were counted as dropped, want 1", n)
		}
	})
}

// dies ends the program after it wrote a text to its standard error.
func (p *peer) dies(text string) {
	p.end.Close(&transport.ExitError{Cause: stdio.CauseCode, Code: 1, Stderr: []byte(text)})
}

// words is the standard error and the incident in the data of an error.
func words(out *testrig.Sink) (stderr, incident string) {
	if e := out.Outcome().Error; e != nil {
		stderr, _ = jsonedit.GetString(e.Data, "stderr")
		incident, _ = jsonedit.GetString(e.Data, "incident")
	}
	return stderr, incident
}

// The last output of a program reaches only callers that it can concern: everyone before its first
// call, then its only principal, and nobody once it had calls of two principals. The others get the
// incident, and the operator gets the text.
func TestLastWordsReachTheirOwner(t *testing.T) {
	const text = "the secret of alice"
	for _, tt := range []struct {
		name    string
		change  func(*rig)
		earlier string          // a principal whose call has ended
		want    map[string]bool // principals that are told the text
	}{
		{"two in flight", silent, "", map[string]bool{}},
		{"one in flight, another before", silent, "bob", map[string]bool{}},
		{"the only one", silent, "alice", map[string]bool{"alice": true}},
		{"configured otherwise", sharing, "", map[string]bool{"alice": true, "bob": true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, tt.change, func(r *rig) {
				users := map[string]*user{"alice": r.as("alice", `{}`), "bob": r.as("bob", `{}`)}
				outs := map[string]*testrig.Sink{}
				var p *peer
				if who := tt.earlier; who != "" {
					users[who].call()
					p = r.peer("files")
					p.answer("tools/call", `{"content":[]}`)
				}
				outs["alice"] = users["alice"].call()
				if tt.earlier == "" {
					outs["bob"] = users["bob"].call()
					p = r.peer("files")
				}
				p.dies(text)
				r.WaitIdle()
				incidents := map[string]bool{}
				for who, out := range outs {
					stderr, incident := words(out)
					if got := stderr == text; got != tt.want[who] || incident == "" {
						t.Errorf("%s is told %v", who, out.Outcome().Error)
					}
					incidents[incident] = true
				}
				exited := testrig.Of[telemetry.UpstreamExited](&r.Events)
				if len(exited) != 1 || exited[0].Stderr != text || !incidents[exited[0].Incident] ||
					len(incidents) != 1 {
					t.Errorf("the operator is told %+v, callers of %v", exited, incidents)
				}
				withheld := uint32(len(outs) - len(tt.want))
				if n := r.dropped("unowned"); n != withheld {
					t.Errorf("%d were counted as dropped, want %d", n, withheld)
				}
			})
		})
	}
}

// Later callers are told no more than earlier ones. The last output of a program belongs to the
// principals whose calls it had. Before any call, it concerns the program itself.
func TestLastWordsAreNotForLaterCallers(t *testing.T) {
	run(t, silent, func(r *rig) {
		alice, bob := r.as("alice", `{}`), r.as("bob", `{}`)
		for range 100 {
			alice.call()
			if len(r.peers["files"]) == 0 { // it is paused
				break
			}
			r.latest("files").dies("the secret of alice")
			r.WaitIdle()
		}
		if out := alice.call(); out.Outcome().Error == nil ||
			!strings.Contains(string(out.Outcome().Error.Data), "the secret of alice") {
			t.Errorf("alice is told %v", out.All())
		}
		stderr, incident := words(bob.call())
		if strings.Contains(stderr, "secret") || incident == "" {
			t.Errorf("bob is told %q, incident %q", stderr, incident)
		}
	})
	run(t, func(r *rig) { mute(r, "files") }, func(r *rig) {
		bob := r.open("bob", "files")
		out := bob.ask("initialize", greeting("2025-11-25", `{}`))
		for range 100 {
			if len(r.peers["files"]) == 0 {
				break
			}
			r.latest("files").dies("no licence")
			r.WaitIdle()
			if slices.Contains([]any{int64(-32603)}, out.Word()) {
				break
			}
		}
		if stderr, _ := words(out); stderr != "no licence" {
			t.Errorf("of a start that failed bob is told %v", out.All())
		}
	})
}

// A message that identifies its owner reaches only that owner: progress reaches its call, and the
// withdrawal of a question reaches the client that was asked. Task notifications carry ids that no
// client knows, and notifications that no revision defines reach nobody.
func TestMessagesThatNameTheirOwner(t *testing.T) {
	run(t, silent, func(r *rig) {
		alice, bob := r.as("alice", elicits), r.as("bob", elicits)
		theirs := bob.ask("resources/subscribe", `{"uri":"test://x"}`)
		out := alice.ask("tools/call", `{"name":"files__read","_meta":{"progressToken":"mine"}}`)
		p := r.peer("files")
		token, _ := jsonedit.Get(p.heard("tools/call")[0].Params, "_meta", "progressToken")
		p.Notify("notifications/progress", `{"progressToken":`+string(token)+`,"progress":1}`)
		p.Notify("notifications/progress", `{"progressToken":"mine","progress":2}`)
		p.Ask(jsonrpc.IntID(1), "elicitation/create", `{"message":"name?"}`)
		p.Notify("notifications/cancelled", `{"requestId":1}`)
		p.Notify("notifications/cancelled", `{"requestId":2}`)
		p.Notify("notifications/tasks/status", `{"taskId":"t","status":"working"}`)
		p.Notify("notifications/nobody/knows", `{}`)
		r.WaitIdle()
		if got := out.Sent(); len(got) != 2 ||
			string(got[0].Params) != `{"progressToken":"mine","progress":1}` ||
			got[1].Method != "elicitation/create" {
			t.Errorf("alice's call heard %v", got)
		}
		if got := alice.heard(""); len(got) != 1 || got[0].Method != "notifications/cancelled" {
			t.Errorf("alice heard %v", got)
		}
		if got := bob.heard(""); len(got) > 0 || len(theirs.Sent()) > 0 {
			t.Errorf("bob heard %v and %v", got, theirs.Sent())
		}
		p.Notify("notifications/resources/updated", `{"uri":"test://x"}`)
		r.WaitIdle()
		if a, b := alice.heard("notifications/resources/updated"), bob.heard(""); len(a) != 0 ||
			len(b) != 1 {
			t.Errorf("of a resource that bob subscribed to alice heard %v, bob %v", a, b)
		}
	})
}
