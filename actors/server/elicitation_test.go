package server_test

import (
	"slices"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
)

const (
	pages     = `{"elicitation":{"url":{}}}`
	completed = "notifications/elicitation/complete"
)

// as opens a session of a principal that has completed its handshake.
func (r *rig) as(principal, capabilities string) *user {
	r.T.Helper()
	u := r.open(principal, "")
	u.shake(capabilities)
	return u
}

// page asks the client to send its user to a page.
func (p *peer) page(id jsonrpc.ID, elicitation string) {
	p.Ask(id, "elicitation/create",
		`{"mode":"url","elicitationId":"`+elicitation+`","url":"https://a.example","message":"go"}`)
}

// complete reports that such a visit is complete.
func (p *peer) complete(elicitation string) {
	p.Notify(completed, `{"elicitationId":"`+elicitation+`"}`)
}

// dropped is how many notifications were dropped for a reason.
func (r *rig) dropped(reason string) (n uint32) {
	time.Sleep(time.Minute) // they are reported in sums
	r.WaitIdle()
	for _, e := range testrig.Of[telemetry.NotificationDropped](&r.Events) {
		if e.Reason == reason {
			n += e.Count
		}
	}
	return n
}

// 2025-11-25 §client/elicitation: the completion of an elicitation is sent to the session that was
// given its id, by a question or by the error of a call, and to no other session on the connection.
func TestEndOfElicitationReachesItsSession(t *testing.T) {
	for name, give := range map[string]func(r *rig, u *user, p func() *peer){
		"asked": func(r *rig, u *user, p func() *peer) {
			r.script["files"]["tools/call"] = nil
			out := u.call()
			p().page(jsonrpc.IntID(1), "e")
			r.WaitIdle()
			u.answer(out.Sent()[0].ID, yes)
		},
		"refused": func(r *rig, u *user, p func() *peer) {
			r.script["files"]["tools/call"] = result(visit) // for elicitation e
			if out := u.call(); out.Word() != int64(-32042) {
				t.Fatal(out.All())
			}
			p()
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				alice, again, bob := r.as("alice", pages), r.as("alice", pages), r.as("bob", pages)
				for _, u := range []*user{again, bob} { // they use the connection too
					u.call()
				}
				var p *peer
				give(r, alice, func() *peer { p = r.peer("files"); return p })
				p.complete("another")
				p.complete("")
				p.complete("e")
				p.complete("e")
				r.WaitIdle()
				if got := alice.heard(completed); len(got) != 1 ||
					string(got[0].Params) != `{"elicitationId":"e"}` {
					t.Errorf("alice heard %v", got)
				}
				if got := slices.Concat(again.heard(completed), bob.heard(completed)); len(got) != 0 {
					t.Errorf("others heard %v", got)
				}
				if n := r.dropped("unowned"); n != 3 {
					t.Errorf("%d were counted as dropped, want 3", n)
				}
			})
		})
	}
}

// An elicitation survives a crash of its session's actor, and one of the connection.
func TestElicitationOutlivesCrashes(t *testing.T) {
	for name, crash := range map[string]func(r *rig, u *user){
		"session": func(r *rig, u *user) {
			r.Break("server_sup/*", "*session.Deliver")
			u.ask("ping", "")
		},
		"connection": func(r *rig, u *user) {
			r.Break("client_sup/files/*", "client.inbound")
			r.peer("files").Notify("notifications/resources/updated", `{"uri":"test://none"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) { r.script["files"]["tools/call"] = result(visit) }, func(r *rig) {
				alice, bob := r.as("alice", pages), r.as("bob", pages)
				alice.call()
				crash(r, alice)
				r.Struck()
				time.Sleep(time.Minute)
				r.latest("files").complete("e")
				r.WaitIdle()
				if got := alice.heard(completed); len(got) != 1 {
					t.Errorf("alice heard %v", got)
				}
				if got := bob.heard(completed); len(got) != 0 {
					t.Errorf("bob heard %v", got)
				}
			})
		})
	}
}

// Modern clients are never told: their revision does not define the notification, and several may
// share one peer. A completion for a session that is gone reaches nobody.
func TestEndOfElicitationThatNobodyHears(t *testing.T) {
	run(t, func(r *rig) { r.script["files"]["tools/call"] = nil }, func(r *rig) {
		alice := r.as("alice", pages)
		modern := r.caller(pages)
		modern.principal = "bob"
		listening := modern.ask("subscriptions/listen", everything)
		out := modern.call()
		p := r.latest("files")
		p.page(jsonrpc.IntID(1), "m")
		time.Sleep(time.Second)
		modern.retry("tools/call", bound, state(t, out), `{"elicit-1":`+yes+`}`)
		p.complete("m")
		if n := r.dropped("unowned"); n != 1 || len(alice.heard(completed)) > 0 ||
			len(listening.Sent()) > 1 {
			t.Errorf("%d dropped; alice heard %v, the listener %v", n, alice.heard(completed),
				listening.Sent())
		}
	})
	run(t, func(r *rig) { r.script["files"]["tools/call"] = result(visit) }, func(r *rig) {
		alice, bob := r.as("alice", pages), r.as("bob", pages)
		alice.call()
		bob.call()
		if err := alice.h.Close(r.T.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		p := r.latest("files")
		p.complete("e")
		r.WaitIdle()
		if got := bob.heard(completed); len(got) != 1 { // bob was given the same id
			t.Errorf("bob heard %v", got)
		}
		p.complete("e")
		if n := r.dropped("unowned"); n != 1 {
			t.Errorf("%d were counted as dropped, want 1", n)
		}
	})
}
