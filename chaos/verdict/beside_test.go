package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mcpd/chaos/record"
	"mcpd/internal/load"
)

// A disturbance of all bystanders in one second counts once, however many bystanders there are.
func TestMoreBystandersAreNotMoreMeasurements(t *testing.T) {
	each(func(r record.Record) {
		for g := range r.Groups {
			r.Groups[g] = r.Groups[1]
		}
		wantIs, want := judgeLatency(r)
		for range 5 {
			r.Groups = append(r.Groups, r.Groups[1])
		}
		if is, found := judgeLatency(r); is != wantIs || found != want {
			t.Errorf("%s: %s; with fewer %s: %s", is, found, wantIs, want)
		}
	})
}

// Seconds that correlate with their predecessors give an interval of about the right width.
func TestSecondsInARowAreNotTakenForIndependent(t *testing.T) {
	const seconds, like, experiments = 60, 0.3, 2000 // like is less in three of four runs
	random := rand.New(rand.NewPCG(1, 2))
	phase := func() (list []float64) {
		mood := random.NormFloat64()
		for range seconds {
			mood = like*mood + math.Sqrt(1-like*like)*random.NormFloat64()
			list = append(list, math.Exp(0.2*mood))
		}
		return list
	}
	covered := 0
	for range experiments {
		of := batchSize(seconds)
		e, err := load.Ratio(batches(phase(), of), batches(phase(), of))
		if err != nil {
			t.Fatal(err)
		}
		if e.Low <= 1 && e.High >= 1 {
			covered++
		}
	}
	if covered < experiments*91/100 {
		t.Errorf("the interval held the truth in %d of %d experiments", covered, experiments)
	}
}

func TestBatchesHoldEverySecondOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 500).Draw(t, "seconds")
		seconds := make([]float64, n)
		for i := range seconds {
			seconds[i] = float64(i + 1)
		}
		of := batchSize(n)
		list := batches(seconds, of)
		if len(list) > mostBatches || n >= mostBatches && len(list) < mostBatches/2 {
			t.Fatalf("%d batches", len(list))
		}
		for i, want := range list[:len(list)-1] {
			if got := batches(seconds[i*of:(i+1)*of], of); !slices.Equal(got, []float64{want}) {
				t.Fatalf("batch %d is %v, want %v", i, want, got)
			}
		}
		if last := batches(seconds[(len(list)-1)*of:],
			n); math.Abs(last[0]-list[len(list)-1]) > 1e-9*last[0] {
			t.Fatalf("the last is %v, want %v", list[len(list)-1], last)
		}
	})
}

// A fault that lasts longer than the baseline does not count the baseline more than once: the
// chance variation of the baseline stays in the interval.
func TestLongFaultMakesNoLongBaseline(t *testing.T) {
	const baseline, laps, experiments = 60, 10, 500
	random := rand.New(rand.NewPCG(1, 2))
	covered := 0
	for range experiments {
		r := record.Record{
			Phases: []record.Phase{
				{Name: record.Baseline, To: baseline},
				{Name: record.Fault, From: baseline, To: baseline * (1 + laps)},
			},
		}
		g := record.Group{Role: record.Bystander}
		for at := range baseline * (1 + laps) {
			g.Seconds = append(g.Seconds, record.Second{At: at, P99: math.Exp(0.2 * random.NormFloat64())})
		}
		r.Groups = []record.Group{g}
		before, during := pairs(r)
		of := batchSize(len(before))
		e, err := load.Ratio(batches(before, of), batches(during, of))
		if err != nil {
			t.Fatal(err)
		}
		if e.Low <= 1 && e.High >= 1 {
			covered++
		}
	}
	if share := float64(covered) / experiments; share < 0.92 || share > 0.98 {
		t.Errorf("the interval held the truth in %.1f of 100 experiments", 100*share)
	}
}

// Later blocks of a fault that lasts longer than the baseline are judged too.
func TestBlocksOfALongFaultAreJudged(t *testing.T) {
	each(func(r record.Record) {
		for i := range r.Groups {
			g := &r.Groups[i]
			for at := 60.0; at < 180; at += 10 {
				g.Blocks = append(g.Blocks, record.Block{Phase: record.Fault, At: at, Calls: 2200, P999: 30})
			}
		}
		if is, found := judgeLatency(r); is != record.Fail {
			t.Errorf("%s: %s", is, found)
		}
	})
}

// A fault that lasts longer than the baseline is judged as a whole.
func TestAllOfALongFaultIsJudged(t *testing.T) {
	each(func(r record.Record) {
		base, fault := r.Phases[0], &r.Phases[1]
		fault.To = fault.From + 3*(base.To-base.From)
		for g := range r.Groups {
			for i := range r.Groups[g].Seconds {
				r.Groups[g].Seconds[i].P99 = 1
			}
			for at := int(2 * base.To); at < int(fault.To); at++ {
				r.Groups[g].Seconds = slices.DeleteFunc(r.Groups[g].Seconds, func(s record.Second) bool {
					return s.At == at
				})
				r.Groups[g].Seconds = append(r.Groups[g].Seconds, record.Second{At: at, P99: 3})
			}
		}
		if is, found := judgeLatency(r); is != record.Fail {
			t.Errorf("%s: %s", is, found)
		}
	})
}
