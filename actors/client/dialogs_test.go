package client_test

import (
	"strings"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// owner is a session whose client may be gone.
type owner struct {
	otp.Ref
	*presence
}

// dialogs make every instance of a server ask a user about a call of the tool "a". Call is that of
// p.
func (r *rig) dialogs(who *presence, version protocol.Version) (p, q *mcptest.Peer,
	call jsonrpc.Message) {
	r.T.Helper()
	p = r.program(r.dials)
	for _, session := range []string{"one", "two"} {
		x := r.exchange(session, "tools/call", `{"name":"a"}`)
		x.Owner, x.Version = owner{r.Ref(session), who}, version
		r.send(&request.Forward{Exchange: x})
		at := p
		if session == "two" {
			q = r.grow()
			at = q
		}
		if m := at.Expect("tools/call"); at == p {
			call = m
		}
		at.Ask(jsonrpc.ID{}, question, "elicitation/create",
			`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`)
		r.WaitIdle()
	}
	return p, q, call
}

// status returns what the tree shows of the connection.
func (r *rig) status() client.Status {
	r.T.Helper()
	return r.node().Extra.(client.Status)
}

// Users are asked on all instances, and their clients are gone or silent for too long. A call that
// would ask its user then gets the place of one of them, and an operator reads why.
func TestAbandonedQuestionsAreGivenUpForOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		version protocol.Version
		left    bool
		after   time.Duration
		reason  string
	}{
		"gone":   {protocol.V20251125, true, client.GoneAfter + time.Second, "its client is gone"},
		"silent": {protocol.V20260728, false, protocol.QuestionWait, "its client has not come back for "},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, shared, func(r *rig) {
				var who presence
				p, q, call := r.dialogs(&who, tt.version)
				time.Sleep(time.Minute) // while nobody else waits, both may take their time
				p.ExpectNothing(time.Second)
				third := r.call("two")
				if tt.left {
					who.leave(time.Now())
					p.ExpectNothing(client.GoneAfter / 2)
				}
				time.Sleep(tt.after)
				a := p.ExpectAnswer(question)
				if a.Error == nil || !strings.Contains(a.Error.Message, tt.reason) {
					t.Errorf("answered %s", a.Append(nil))
				}
				q.ExpectAnswer(question)
				p.Reply(call, `{"content":[]}`)
				p.Reply(p.Expect("tools/call"), `{"content":[]}`)
				r.WaitIdle()
				if got := r.outcome(third); got.Err != nil {
					t.Error(got.Err)
				}
				given := testrig.Of[telemetry.QuestionGivenUp](&r.Events)
				if len(given) != 2 || !strings.HasPrefix(given[0].Cause, tt.reason) ||
					given[0].Session != "one" {
					t.Errorf("told %+v", given)
				}
			})
		})
	}
}

// The tree and the log show which calls wait for which users; the log has one line for all that
// wait at a time. Each call that has waited for too long has a line of its own: which tool of which
// server, of which session, and why.
func TestTreeAndLogTellWhoWaits(t *testing.T) {
	run(t, shared, func(r *rig) {
		p, _, _ := r.dialogs(&presence{}, protocol.V20251125)
		if got := r.status().Waits; !strings.HasPrefix(got, "asks session one since ") ||
			strings.Contains(got, "wait for") {
			t.Errorf("the tree: %q", got)
		}
		r.call("two")
		r.call("two")
		time.Sleep(2 * client.Patience)
		r.WaitIdle()
		if got := r.status().Waits; !strings.Contains(got,
			"calls of sessions two wait for the users of sessions one, two") {
			t.Errorf("the tree: %q", got)
		}
		told := testrig.Of[telemetry.CallsWait](&r.Events)
		if len(told) != 1 || told[0].Session != "two" ||
			!strings.Contains(told[0].Cause, "session one is asked elicitation/create for ") {
			t.Errorf("told %+v", told)
		}
		time.Sleep(protocol.QuestionWait + 2*time.Second)
		r.WaitIdle()
		if got := r.status().Waits; strings.Contains(got, "wait for") || len(r.outcomes()) != 2 {
			t.Errorf("in the end %q, %d outcomes", got, len(r.outcomes()))
		}
		refused := testrig.Of[telemetry.Rejected](&r.Events)
		if len(refused) != 2 {
			t.Errorf("told of %d refusals, want 2", len(refused))
		}
		for _, e := range refused {
			if e.Server != "files" || e.Session != "two" || e.Reason != "timeout" ||
				e.Method != "tools/call" || e.Name != "a" {
				t.Errorf("a refusal is told as %+v", e)
			}
		}
		if len(testrig.Of[telemetry.CallsWait](&r.Events)) != 1 ||
			len(testrig.Of[telemetry.QuestionGivenUp](&r.Events)) != 0 {
			t.Error("told more than once, or given up")
		}
		p.ExpectNothing(time.Second)
	})
}
