package inflight_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mcpd/protocol/inflight"
)

// thing is a value with a deadline.
type thing struct {
	at       time.Time
	deadline inflight.Deadline[*thing]
}

// A wheel reports the same due values as a plain list of deadlines. That holds for every sequence
// of calls, for deadlines at any distance, and for rare calls of Due.
func TestWheelIsAListOfDeadlines(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var w inflight.Wheel[*thing]
		var all []*thing
		now := time.Unix(1000, 0)
		for range 300 {
			switch rnd.IntN(5) {
			case 0, 1:
				all = append(all, &thing{})
				fallthrough
			case 2:
				if len(all) > 0 {
					x := all[rnd.IntN(len(all))]
					x.at = now.Add(time.Duration(rnd.Int64N(int64(5*time.Minute))) - 2*time.Second)
					w.Set(&x.deadline, x, x.at)
				}
			case 3:
				if len(all) > 0 {
					i := rnd.IntN(len(all))
					w.Remove(&all[i].deadline)
					all[i].at = time.Time{}
					all = slices.Delete(all, i, i+1)
				}
			default:
				now = now.Add(time.Duration(rnd.Int64N(int64([]time.Duration{
					time.Millisecond, time.Second, time.Minute, 10 * time.Minute,
				}[rnd.IntN(4)]))))
			}
			all = slices.DeleteFunc(all, func(x *thing) bool { return x.at.IsZero() })
			if w.Len() != len(all) || len(slices.Collect(w.All())) != len(all) {
				t.Fatalf("seed %d: %d set, want %d", seed, w.Len(), len(all))
			}
			slices.SortStableFunc(all, func(a, b *thing) int { return a.at.Compare(b.at) })
			due := w.Due(now)
			n := 0
			for n < len(all) && !all[n].at.After(now) {
				n++
			}
			if len(due) != n {
				t.Fatalf("seed %d: %d due, want %d", seed, len(due), n)
			}
			for i, x := range due {
				if !x.at.Equal(all[i].at) || !x.deadline.At().Equal(x.at) || !x.deadline.IsSet() {
					t.Fatalf("seed %d: due at %v, want %v", seed, x.at, all[i].at)
				}
			}
			// Otherwise they stay, as after a crash of the goroutine that would have removed them.
			if rnd.IntN(4) > 0 {
				for _, x := range due {
					w.Remove(&x.deadline)
				}
				all = all[n:]
			}
			switch next, ok := w.Next(now); {
			case ok != (len(all) > 0):
				t.Fatalf("seed %d: next %v, %v with %d set", seed, next, ok, len(all))
			case ok && next.After(all[0].at):
				t.Fatalf("seed %d: next %v is after the first, %v", seed, next, all[0].at)
			case ok && !next.Equal(all[0].at) && next.Before(now):
				t.Fatalf("seed %d: next %v is in the past, before any deadline", seed, next)
			}
		}
	}
}

// Setting and removing deadlines allocates no memory.
func TestWheelTakesNoMemory(t *testing.T) {
	var w inflight.Wheel[*thing]
	x, y := &thing{}, &thing{}
	at := time.Unix(1000, 0)
	w.Set(&y.deadline, y, at)
	if n := testing.AllocsPerRun(100, func() {
		w.Set(&x.deadline, x, at.Add(time.Minute))
		w.Remove(&x.deadline)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
