package client_test

import (
	"testing"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
)

// A connection that goes on without its carried state gets back from the catalogue what it left
// there.
func TestConnectionRestoresItsAbandonedState(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.readyWithResources()
		r.attach("one")
		r.setIntent(client.SubscriptionIntent{Session: "one", Level: "notice"})
		p.Reply(p.Expect("logging/setLevel"), `{}`)
		r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		p.Close(nil)
		for range 3 { // as soon as it has dialled
			r.Break("conn", "client.dialled")
			r.server()
			r.WaitIdle()
		}
		abandoned := testrig.Of[*client.AbandonedState](&r.catalog.Log)
		if len(abandoned) != 1 {
			r.T.Fatalf("%d left, want 1", len(abandoned))
		}
		r.send(abandoned[0])
		p = r.readyWithResources()
		if m := p.Expect("logging/setLevel"); string(m.Params) != `{"level":"notice"}` {
			t.Errorf("level: %s", m.Params)
		}
		if m := p.Expect("resources/subscribe"); string(m.Params) != `{"uri":"test://x"}` {
			t.Errorf("subscription: %s", m.Params)
		}
	})
}
