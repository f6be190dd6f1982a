package held_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"mcpd/actors/held"
	"mcpd/actors/internal/stage"
	"mcpd/protocol/jsonrpc"
)

// Whatever a crash has done to what is known of a call, the next incarnation does not crash on it, and in the end its client and its server have
// an answer each, but for who is not known any more, and nothing is left.
func TestDamagedCallEnds(t *testing.T) {
	for seed := range uint64(200) {
		run(t, func(r *rig) {
			r.Heirs.Whole = []string{"*held.Options", "held.Args", "jsonrpc.ID", "jsontext.Value", "protocol.ClientCapabilities", "estate.mu"}
			r.Heirs.Rand = rand.New(rand.NewPCG(seed, 0))
			outs := []*stage.Sink{r.out}
			r.ask(1, "elicitation/create", form)
			switch seed % 4 {
			case 1, 2, 3:
				time.Sleep(time.Second)
				token := r.state(r.out)
				if seed%4 == 2 {
					outs = append(outs, r.retry(token, `{"elicit-1":`+yes+`}`, `{}`))
				}
				if seed%4 == 3 {
					r.finish(done)
				}
			}
			r.Break("held_sup/*", "*held.Gone")
			r.send(gone(nil))
			r.Struck()
			r.Heirs.Rand = nil
			time.Sleep(time.Second)
			if seed%8 < 4 {
				r.finish(done)
			}
			if ref := r.Ref("held_sup").Child(held.Row(r.x.ID)).Child(held.Child); ref.Incarnation() > 2 {
				t.Errorf("seed %d: incarnation %d after %q", seed, ref.Incarnation(), r.Heirs.Done)
			}
			time.Sleep(park)
			r.finish(done) // the request manager ends it at the latest
			time.Sleep(2 * park)
			missing := len(outs)
			for _, out := range outs {
				if len(out.All()) > 0 {
					missing--
				}
			}
			if missing > r.harmed("estate.open", "open.out") {
				t.Errorf("seed %d: %d without an outcome after %q", seed, missing, r.Heirs.Done)
			}
			answered := map[jsonrpc.ID]int{}
			for _, a := range r.answers() {
				answered[a.Question]++
			}
			if n := answered[jsonrpc.IntID(1)]; seed%4 < 3 && n == 0 && r.harmed("estate.questions", "") == 0 || n > 1 {
				t.Errorf("seed %d: the question was answered %d times after %q", seed, n, r.Heirs.Done)
			}
			if r.there() {
				t.Errorf("seed %d: it is there for ever after %q", seed, r.Heirs.Done)
			}
		})
	}
}

// harmed is how often the damage was done where only that is known which is asked for.
func (r *rig) harmed(at, in string) (n int) {
	for _, harm := range r.Heirs.Done {
		for _, how := range []string{"zero ", "delete from ", "zero in ", "zero key in ", "duplicate in "} {
			if harm == how+at || in != "" && harm == how+in {
				n++
			}
		}
	}
	return n
}
