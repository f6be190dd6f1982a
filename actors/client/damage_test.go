package client_test

import (
	"math/rand/v2"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/internal/stage"
)

// Whatever a crash has done to what a connection keeps, the next incarnation does not crash on it and serves.
func TestDamagedConnectionServes(t *testing.T) {
	for seed := range uint64(150) {
		run(t, nil, func(r *rig) {
			r.Heirs.Rand = rand.New(rand.NewPCG(seed, 0))
			r.Heirs.Whole = []string{"client.Options", "*request.Exchange", "*request.List"}
			r.server() // takes its time
			r.attach("one")
			r.attach("two")
			r.wish(client.Wish{Session: "one", Level: "info", URIs: []string{"test://x"}})
			r.wish(client.Wish{Session: "two", URIs: []string{"test://x", "test://y"}})
			for range 3 {
				r.call("one")
			}
			r.Break("conn", "client.Describe")
			r.send(client.Describe{})
			r.Heirs.Rand = nil
			p := r.server()
			p.Handshake(`{"tools":{},"logging":{},"resources":{"subscribe":true}}`)
			p.Serve(map[string]func(jsontext.Value) string{
				"tools/list": func(jsontext.Value) string { return `{"tools":[]}` }, "tools/call": func(jsontext.Value) string { return `{"content":[]}` },
			})
			r.attach("one")
			x := r.call("one")
			served := r.outcome(x).Err == nil
			if got := r.Ref("conn").Incarnation(); got != 2 || !served {
				t.Errorf("seed %d: incarnation %d, served %v after %q", seed, got, served, r.Heirs.Done)
			}
			_ = r.Tree.Shutdown(r.T.Context())
			for id := range r.next {
				n := 0
				for _, c := range r.outcomes() {
					if c.ID == id+1 {
						n++
					}
				}
				if n > 1 {
					t.Errorf("seed %d: call %d has %d outcomes after %q", seed, id+1, n, r.Heirs.Done)
				}
			}
		})
	}
}

// A connection that goes on without its heir gets back from the catalogue what it left there.
func TestConnectionRegainsWhatItLeft(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.watched()
		r.attach("one")
		r.wish(client.Wish{Session: "one", Level: "notice"})
		p.Reply(p.Expect("logging/setLevel"), `{}`)
		r.forward("one", "resources/subscribe", `{"uri":"test://x"}`)
		p.Reply(p.Expect("resources/subscribe"), `{}`)
		p.Close(nil)
		for range 3 { // as soon as it has dialled
			r.Break("conn", "client.dialled")
			r.server()
			r.Rest()
		}
		left := stage.Of[*client.Left](&r.catalog.Log)
		if len(left) != 1 {
			r.T.Fatalf("%d left, want 1", len(left))
		}
		r.send(left[0])
		p = r.watched()
		if m := p.Expect("logging/setLevel"); string(m.Params) != `{"level":"notice"}` {
			t.Errorf("level: %s", m.Params)
		}
		if m := p.Expect("resources/subscribe"); string(m.Params) != `{"uri":"test://x"}` {
			t.Errorf("subscription: %s", m.Params)
		}
	})
}
