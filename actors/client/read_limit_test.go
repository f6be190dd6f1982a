package client_test

import (
	"strconv"
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
	"mcpd/telemetry/drops"
)

// flood makes a server send all that at once, and then one log line. It returns a function that
// counts the log lines that were read by now, including those that the dispatcher's mailbox did not
// take and that were reported.
func (r *rig) flood(n int, say func(p *mcptest.Peer, i int)) (heard func() int) {
	p := r.ready(`{"tools":{},"logging":{}}`)
	go func() { // owner: the peer, which ends with the test
		for i := range n {
			say(p, i)
		}
		p.Notify(jsonrpc.ID{}, "notifications/message", `{"level":"info","data":"last"}`)
	}()
	return func() int {
		r.WaitIdle()
		n := len(testrig.Of[*notification.Dispatch](&r.dispatcher.Log))
		for _, e := range testrig.Of[telemetry.NotificationDropped](&r.Events) {
			if e.Reason == "queue_full" {
				n += int(e.Count)
			}
		}
		return n
	}
}

// F21: a server that logs without pause is read no faster than its rate, and none of its messages
// is lost.
func TestFloodOfNewsIsReadAtItsPace(t *testing.T) {
	run(t, nil, func(r *rig) {
		heard := r.flood(client.UnsolicitedBurst+client.UnsolicitedRate, func(p *mcptest.Peer, i int) {
			p.Notify(jsonrpc.ID{}, "notifications/message", `{"level":"info","data":`+strconv.Itoa(i)+`}`)
		})
		if got := heard(); got < client.UnsolicitedBurst*19/20 ||
			got > client.UnsolicitedBurst+client.UnsolicitedRate/20 {
			t.Errorf("%d lines were read at once, want %d", got, client.UnsolicitedBurst)
		}
		time.Sleep(time.Second / 2) // virtual
		if got, want := heard(), client.UnsolicitedBurst+client.UnsolicitedRate/2; got < want*19/20 ||
			got > want*21/20 {
			t.Errorf("%d lines were read in half a second, want %d", got, want)
		}
		time.Sleep(time.Second/2 + 50*time.Millisecond + drops.Every)
		if got, want := heard(), client.UnsolicitedBurst+client.UnsolicitedRate+1; got != want {
			t.Errorf("%d lines were read in the end, want %d", got, want)
		}
		if told := testrig.Of[telemetry.UpstreamPaced](&r.Events); len(told) != 1 ||
			told[0].Server != "files" || told[0].For != time.Second {
			t.Errorf("told of %v", told)
		}
	})
}

// F35: a progress notification holds up the messages behind it for less time. An answer to nothing
// has the rate of other unsolicited messages; an answer to a request has none.
func TestFloodHasItsPace(t *testing.T) {
	for name, tc := range map[string]struct {
		n   int
		say func(p *mcptest.Peer, i int)
	}{
		"progress": {4*client.UnsolicitedBurst + client.ProgressReadRate, func(p *mcptest.Peer, i int) {
			p.Notify(jsonrpc.ID{}, "notifications/progress",
				`{"progressToken":"of no call","progress":`+strconv.Itoa(i)+`}`)
		}},
		"answers": {client.UnsolicitedBurst + client.UnsolicitedRate, func(p *mcptest.Peer, i int) {
			p.Reply(jsonrpc.Request(jsonrpc.IntID(uint64(1e6+i)), "", nil), `{}`)
		}},
		"questions": {client.UnsolicitedBurst + client.UnsolicitedRate, func(p *mcptest.Peer, i int) {
			p.Ask(jsonrpc.ID{}, jsonrpc.IntID(uint64(i)), "ping", "")
			p.ExpectAnswer(jsonrpc.IntID(uint64(i)))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				heard := r.flood(tc.n, tc.say)
				time.Sleep(time.Second - 50*time.Millisecond) // virtual
				if got := heard(); got != 0 {
					t.Errorf("%d lines were read before their turn", got)
				}
				time.Sleep(100 * time.Millisecond)
				if got := heard(); got != 1 {
					t.Errorf("%d lines were read, want 1", got)
				}
			})
		})
	}
}

// However many calls a server answers, their answers are read at once.
func TestAnswersHaveNoPace(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		r.attach("one")
		began := time.Now()
		for range 3 * client.UnsolicitedBurst {
			r.call("one")
			p.Reply(p.Expect("tools/call"), `{"content":[]}`)
		}
		r.WaitIdle()
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}
