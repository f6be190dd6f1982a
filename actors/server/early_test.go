package server_test

import (
	"testing"
	"time"

	"mcpd/actors/client"
	"mcpd/protocol/jsonrpc"
)

// A server that asks for roots when it starts gets those of its first client, before that client
// calls anything: of a client on the transparent endpoint, and of one that lists on the aggregate
// endpoint. A modern client cannot be asked, and another session is not asked.
func TestServerThatAsksFirstHearsItsFirstClient(t *testing.T) {
	const changes, roots = `{"roots":{"listChanged":true}}`, `{"roots":[{"uri":"file:///x"}]}`
	for _, endpoint := range []string{"files", ""} {
		for _, late := range []bool{false, true} {
			run(t, silent, func(r *rig) {
				u := r.open("ci", endpoint)
				u.shake(changes)
				p := r.peer("files")
				p.Ask(jsonrpc.IntID(1), "roots/list", "")
				r.WaitIdle()
				if late { // the server asks again when it is told that there is a client
					time.Sleep(2 * client.QuestionHold)
					if got := p.answers(); len(got) != 1 || got[0].Error == nil {
						t.Fatalf("%q: without a client: %v", endpoint, got)
					}
				}
				u.ask("tools/list", "")
				r.WaitIdle()
				if late {
					if got := p.heard("notifications/roots/list_changed"); len(got) != 1 {
						t.Fatalf("%q: told %v", endpoint, got)
					}
					p.Ask(jsonrpc.IntID(2), "roots/list", "")
					r.WaitIdle()
				}
				other := r.open("ci", endpoint)
				other.shake(changes)
				other.ask("tools/list", "")
				asked := u.heard("roots/list")
				if len(asked) != 1 || len(other.heard("roots/list")) != 0 {
					t.Fatalf("%q: asked %v, the other %v", endpoint, asked, other.heard("roots/list"))
				}
				u.answer(asked[0].ID, roots)
				got := p.answers()
				if last := got[len(got)-1]; string(last.Result) != roots {
					t.Errorf("%q: answered %v", endpoint, got)
				}
			})
		}
	}
}
