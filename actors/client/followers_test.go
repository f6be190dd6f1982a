package client_test

import (
	"testing"
	"time"

	"mcpd/actors/client"
)

// Calls of clients that are not to wait run on another instance while a user is asked. What they change
// there is announced to whoever has subscribed to it, before or after the instance was started.
func TestInstancesAreSubscribedToo(t *testing.T) {
	run(t, shared, func(r *rig) {
		p := r.program(r.dials)
		r.attach("one")
		subscribe := func(uri string) {
			granted := r.wish(client.Wish{Session: "one", URIs: []string{uri}})
			p.Reply(p.Expect("resources/subscribe"), `{}`)
			<-granted
		}
		subscribe("test://before")
		r.asks(p)
		second := r.call("two")
		q := r.grow()
		first := q.Expect("resources/subscribe")
		if string(first.Params) != `{"uri":"test://before"}` {
			t.Errorf("the instance hears of %s", first.Params)
		}
		q.ExpectNothing(time.Second) // the call may change the resource
		q.Reply(first, `{}`)
		q.Reply(q.Expect("tools/call"), `{"content":[]}`)
		r.Rest()
		r.outcome(second)
		subscribe("test://after")
		q.Reply(q.Expect("resources/subscribe"), `{}`)

		r.send(client.Detach{Ref: r.Ref("one")})
		time.Sleep(time.Second)
		for range 2 {
			q.Reply(q.Expect("resources/unsubscribe"), `{}`)
		}
		q.ExpectNothing(time.Second)
	})
}
