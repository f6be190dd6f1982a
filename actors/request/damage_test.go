package request_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"mcpd/actors/internal/stage"
	"mcpd/actors/request"
)

// Whatever a crash has done to the exchanges in flight, the next incarnation does not crash on it, every one of them has its one outcome, and
// the manager is as good as new.
func TestDamagedExchangesEndAndTheRestGoesOn(t *testing.T) {
	for seed := range uint64(100) {
		run(t, func(r *rig) {
			r.Heirs.Whole = []string{
				"request.Options", "map[request.class]*telemetry.Requests", "*otp.Process", "otp.Timer", // nothing of it is taken over
				"Exchange.ID", "Exchange.Downstream", "jsontext.Value", // never changed once made
			}
			r.Heirs.Fixed = []string{"estate.last", "Manager.table", "ledger.table"}
			r.Heirs.Rand = rand.New(rand.NewPCG(seed, 0))
			var outs []*stage.Sink
			for range 3 {
				x, out := r.submit("s")
				outs = append(outs, out)
				switch r.Heirs.Rand.IntN(4) {
				case 0:
					r.send(&request.Park{ID: x.ID, For: time.Minute})
				case 1:
					r.complete(x, `{}`)
				}
			}
			r.Break("manager", "*request.Progress")
			r.send(&request.Progress{})
			r.Heirs.Rand = nil
			time.Sleep(time.Hour)
			if got := r.Ref("manager").Incarnation(); got != 2 {
				t.Errorf("seed %d: incarnation %d after %q", seed, got, r.Heirs.Done)
			}
			missing := 0
			for _, out := range outs {
				if n := len(out.All()); n == 0 {
					missing++
				}
			}
			if lost := r.unknowable(); missing > lost {
				t.Errorf("seed %d: %d without an outcome after %q", seed, missing, r.Heirs.Done)
			}
			if left := len(r.pending(request.PendingQuery{})); left != 0 {
				t.Errorf("seed %d: %d in flight for ever after %q", seed, left, r.Heirs.Done)
			}
			x, out := r.submit("s")
			if r.complete(x, `{}`); out.Word() != "result" {
				t.Errorf("seed %d: the next: %v after %q", seed, out.All(), r.Heirs.Done)
			}
		})
	}
}

// unknowable bounds the exchanges of which the damage left nothing to answer with.
func (r *rig) unknowable() (n int) {
	all, places := len(r.written()), map[string]int{}
	for _, harm := range r.Heirs.Done {
		switch harm {
		case "zero Table.timers", "zero Table.entries":
			places[strings.TrimPrefix(harm, "zero ")] += all
		case "zero in Table.timers", "duplicate in Table.timers":
			places["Table.timers"]++
		case "delete from Table.entries", "zero in Table.entries", "duplicate in Table.entries":
			places["Table.entries"]++
		case "zero Request.Owner", "zero Request.Key", "zero entry.Request", "zero Exchange.Sink":
			n++
		}
	}
	return n + min(places["Table.timers"], places["Table.entries"]) // what is in one of them is found
}
