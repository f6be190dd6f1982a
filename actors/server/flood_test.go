package server_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// flood is more than any mailbox on the way holds.
const flood = 5000

// S4-64, S4-65: a server sends more notifications than a slow client reads. The client's own calls,
// cancellations and answers are still accepted, and calls that end meanwhile do not count for ever.
// Sessions on other connections to the server are not affected.
func TestFloodOfNoticesRefusesNothingElse(t *testing.T) {
	run(t, func(r *rig) {
		r.script["search"]["initialize"] = offers(`{"tools":{},"logging":{}}`)
		r.script["search"]["tools/call"] = nil
	}, func(r *rig) {
		u, other := r.ready(elicits), r.open("other", "")
		other.shake(elicits)
		call := func() *testrig.Sink { return u.ask("tools/call", `{"name":"search__find"}`) }
		first, second, third := call(), call(), call()
		p := r.peer("search")
		p.Ask(jsonrpc.IntID(1), "elicitation/create", `{"message":"name?"}`)
		asked := append(append(first.Sent(), second.Sent()...), third.Sent()...)
		if len(asked) != 1 {
			r.T.Fatalf("asked %v", asked)
		}
		u.stall = make(chan struct{})
		for range flood {
			p.Notify("notifications/message", `{"level":"info","data":"x"}`)
		}
		// as long as it takes to read them, in virtual time
		time.Sleep(flood * time.Second / client.UnsolicitedRate)
		r.WaitIdle()
		counts, err := testrig.Ask[notification.StatsRequest, notification.Counts](r.Rig, "notices",
			notification.StatsRequest{})
		if err != nil || counts.Delivered < otp.DefaultMailbox/2 ||
			counts.Delivered > otp.DefaultMailbox/2+1 {
			t.Errorf("%d delivered, %v; want half of one session's mailbox", counts.Delivered, err)
		}
		u.tell("notifications/cancelled", `{"requestId":2}`)
		u.answer(asked[0].ID, `{"action":"accept"}`)
		fourth := call()
		p.send(transport.Inbound{
			Message: jsonrpc.Response(p.heard("tools/call")[1].ID, jsontext.Value(`{"content":[]}`)),
		})
		if second.Word() != "result" {
			t.Errorf("answered during the flood: %v", second.All())
		}
		close(u.stall)
		r.WaitIdle()
		if first.Word() != "cancelled" || len(p.heard("notifications/cancelled")) != 1 {
			t.Errorf("cancelled: %v, the server heard %v", first.All(), p.heard("notifications/cancelled"))
		}
		if got := p.answers(); len(got) != 1 || string(got[0].Result) != `{"action":"accept"}` {
			t.Errorf("answered %v", got)
		}
		calls := p.heard("tools/call")
		if len(calls) != 4 || u.h.Calls().Len() != 2 {
			t.Fatalf("%d calls reached the server and %d count, want 4 and 2", len(calls), u.h.Calls().Len())
		}
		for _, m := range calls[2:] {
			p.send(transport.Inbound{Message: jsonrpc.Response(m.ID, jsontext.Value(`{"content":[]}`))})
		}
		if third.Word() != "result" || fourth.Word() != "result" || u.h.Calls().Len() != 0 {
			t.Errorf("got %v, %v, and %d still count", third.All(), fourth.All(), u.h.Calls().Len())
		}
		if got := other.heard(""); len(got) != 0 {
			t.Errorf("the other heard %d", len(got))
		}
	})
}
