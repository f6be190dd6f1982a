package client_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// A question that comes over two connections to a URL is answered by the one that has a client to
// ask. The other refuses it once the first has answered. A question that came over one connection
// alone is refused there, and at once if it came on the stream of a call.
func TestQuestionIsLeftToWhoCanAsk(t *testing.T) {
	known := &client.SharedServerState{}
	run(t, func(o *client.Options) {
		declares(`{"elicitation":{}}`)(o)
		o.Known = known
	}, func(r *rig) {
		p := r.remotely()
		r.attach("one")
		if _, err := otp.StartChild(r.T.Context(), r.Tree.Ref(), r.other()); err != nil {
			t.Fatal(err)
		}
		q, up := mcptest.NewPeer(r.T)
		r.others <- dial{up: behind{up}}
		q.Handshake(`{"tools":{}}`)
		r.call("one")
		p.Expect("tools/call")
		const who = `{"message":"who?","requestedSchema":{"type":"object","properties":{}}}`
		q.Ask(jsonrpc.ID{}, jsonrpc.StringID("q"), "elicitation/create", who)
		p.Ask(jsonrpc.ID{}, jsonrpc.StringID("q"), "elicitation/create", who)
		r.WaitIdle()
		if n := len(testrig.Of[*client.Question](&r.one.Log)); n != 1 {
			t.Fatalf("asked %d times", n)
		}
		q.ExpectNothing(time.Minute / 2)
		asked := time.Now()
		q.Ask(jsonrpc.IntID(99), jsonrpc.StringID("call"), "sampling/createMessage", "{}")
		if got := q.ExpectAnswer(jsonrpc.StringID("call")); got.Error == nil ||
			time.Since(asked) >= client.DeclineWait {
			t.Errorf("got %v after %s", got, time.Since(asked))
		}
		r.send(&client.Answer{
			Question: jsonrpc.StringID("q"), Result: jsontext.Value(`{"action":"decline"}`),
		})
		if got := p.ExpectAnswer(jsonrpc.StringID("q")); got.Error != nil {
			t.Errorf("got %v", got)
		}
		if got := q.ExpectAnswer(jsonrpc.StringID("q")); got.Error == nil {
			t.Errorf("got %v", got)
		}
		q.Ask(jsonrpc.ID{}, jsonrpc.StringID("own"), "elicitation/create", who)
		q.ExpectNothing(client.DeclineWait - time.Millisecond)
		if got := q.ExpectAnswer(jsonrpc.StringID("own")); got.Error == nil {
			t.Errorf("got %v", got)
		}
	})
}
