package client_test

import (
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/protocol/jsonedit"
	"mcpd/supervisor/otp"
)

// Each of some thousand calls on one connection has exactly one outcome, its own result, in
// whatever order the server answers. The number is high enough to find a result that is lost once
// in a thousand times.
func TestEveryReplyOfThousandsArrives(t *testing.T) {
	const batches, batch = 30, 100
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		want := map[uint64]string{}
		for range batches {
			for range batch {
				x := r.exchange("one", "tools/call", `{"name":"a"}`)
				want[x.ID] = `{"n":` + strconv.FormatUint(x.ID, 10) + `}`
				x.Params = jsontext.Value(`{"name":"a","arguments":` + want[x.ID] + `}`)
				r.send(&request.Forward{Exchange: x})
			}
			for range batch {
				m := p.Expect("tools/call")
				arguments, _ := jsonedit.Get(m.Params, "arguments")
				p.Reply(m, string(arguments))
			}
			r.WaitIdle()
		}
		outcomes := map[uint64]int{}
		for _, c := range r.outcomes() {
			if outcomes[c.ID]++; c.Err != nil || string(c.Result) != want[c.ID] {
				t.Errorf("call %d: %s, %v, want %s", c.ID, c.Result, c.Err, want[c.ID])
			}
		}
		missing := 0
		for id := range want {
			if outcomes[id] != 1 {
				missing++
			}
		}
		if missing > 0 || len(outcomes) != batches*batch {
			t.Errorf("%d of %d calls do not have exactly one outcome", missing, len(want))
		}
		r.holdsNothing()
	})
}

// A session that ends while the connection holds its subscription intent leaves nothing behind: the
// call is answered, although nobody waits for the answer.
func TestIntentOfASessionThatEndsIsAnswered(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.server()
		p.Expect("initialize")
		r.attach("one")
		granted := r.setIntent(client.SubscriptionIntent{Session: "one", URIs: []string{"test://x"}})
		r.send(client.Detach{Ref: r.Ref("one")})
		select {
		case err := <-granted:
			if err == nil {
				t.Error("the intent was granted by a connection that is not ready")
			}
		default:
			t.Error("the intent is not answered")
		}
		r.holdsNothing()
	})
}

// holdsNothing checks that the connection has no pending replies.
func (r *rig) holdsNothing() {
	r.T.Helper()
	r.WaitIdle()
	r.System.Snapshot().Walk(func(n otp.Node) bool {
		if n.Holds.Replies > 0 {
			r.T.Errorf("%s has %d calls without an answer", n.Path, n.Holds.Replies)
		}
		return true
	})
}
