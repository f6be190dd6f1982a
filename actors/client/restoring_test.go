package client_test

import (
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/internal/mcptest"
)

// A call that has a server started comes to it when the server has what its client wants of it:
// the log level, and the resources that it watches. A server may handle what comes after the
// other together.
func TestCallWaitsForWhatItsClientWants(t *testing.T) {
	for name, answered := range map[string]bool{"answered": true, "not answered": false} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				r.attach("one")
				granted := r.wish(client.Wish{Session: "one", Level: "info", URIs: []string{"test://x"}})
				x := r.call("one")
				p := r.watched() // what it expects comes in this order, after notifications/initialized
				level, uri := p.Expect("logging/setLevel"), p.Expect("resources/subscribe")
				began := time.Now()
				if answered {
					p.ExpectNothing(time.Second)
					p.Reply(uri, `{}`)
					p.ExpectNothing(time.Second / 2)
					p.Refuse(level, -32602, "not that") // which is an answer too
					<-granted
				}
				late := r.call("one") // it does not overtake the other
				for range 2 {
					p.Reply(p.Expect("tools/call"), `{"content":[]}`)
				}
				want := time.Second * 3 / 2
				if !answered {
					want = client.RestoreWait
				}
				if got := time.Since(began); got != want {
					t.Errorf("the call came after %v, want %v", got, want)
				}
				r.Rest()
				r.outcome(x)
				r.outcome(late)
			})
		})
	}
}

// The same is so after each end of a server: calls that waited for the next come after what it is
// asked for again.
func TestCallWaitsForWhatIsRestored(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.watched()
		r.attach("one")
		r.wish(client.Wish{Session: "one", Level: "notice"})
		p.Reply(p.Expect("logging/setLevel"), `{}`)
		for range 2 {
			p.Close(nil)
			r.call("one")
			p = r.watched()
			level := p.Expect("logging/setLevel")
			p.ExpectNothing(client.RestoreWait / 2)
			p.Reply(level, `{}`)
			p.Reply(p.Expect("tools/call"), `{"content":[]}`)
			r.Rest()
		}
	})
}

// An instance takes the level of each session whose calls it gets before the call.
func TestInstanceHasTheLevelBeforeTheCall(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.attach("one")
		r.attach("two")
		<-r.wish(client.Wish{Session: "one"})
		r.call("one")
		p.Expect("tools/call")
		var q *mcptest.Peer
		for _, level := range []string{"debug", "error"} {
			granted := r.wish(client.Wish{Session: "two", Level: level})
			p.Reply(p.Expect("logging/setLevel"), `{}`)
			<-granted
			r.call("two")
			if q == nil {
				q = r.grow()
			}
			m := q.Expect("logging/setLevel")
			q.ExpectNothing(client.RestoreWait / 2)
			q.Reply(m, `{}`)
			q.Reply(q.Expect("tools/call"), `{"content":[]}`)
			r.Rest()
		}
	})
}
