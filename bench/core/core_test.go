package core

import (
	"testing"

	"mcpd/bench/kit"
	"mcpd/internal/load"
)

// run runs a scenario in its short form and fails the test on any error.
func run(t *testing.T, name string) *kit.Run {
	t.Helper()
	r := &kit.Run{Short: true, Seed: 1, Say: t.Logf}
	for _, s := range Scenarios {
		if s.Name != name {
			continue
		}
		if err := s.Measure(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Fatalf("there is no scenario %s", name)
	return nil
}

// The bench judges the ceilings, which are times and would fail under the race detector. This test
// only checks that each latency is measured.
func TestEachOfTheSixIsJudged(t *testing.T) {
	for _, name := range []string{"six-pure", "six-actors"} {
		r := run(t, name)
		if len(r.Record.Comparisons) != len(six) {
			t.Fatalf("%s: %d comparisons, want %d", name, len(r.Record.Comparisons), len(six))
		}
		for i, c := range r.Record.Comparisons {
			if c.Case != six[i].name || c.Gate == 0 || c.Verdict == "" {
				t.Errorf("%s: %+v, want %s", name, c, six[i].name)
			}
		}
	}
}

// The number of allocations does not depend on the machine.
func TestBridgeAsksForLittleMemory(t *testing.T) {
	r := run(t, "bridge")
	judged := 0
	for _, c := range r.Record.Comparisons {
		if c.Gate > 0 {
			judged++
			if c.Verdict != load.Pass {
				t.Errorf("%+v", c)
			}
		}
	}
	if judged != 2 {
		t.Errorf("%d gates, want 2", judged)
	}
}

func BenchmarkSix(b *testing.B) {
	for _, l := range six {
		b.Run(l.name, func(b *testing.B) {
			do, err := l.pure()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSixThroughActors(b *testing.B) {
	s, err := newStage(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer s.close()
	for _, l := range six {
		b.Run(l.name, func(b *testing.B) {
			one, err := l.through(b.Context(), s)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var timed int64
			for b.Loop() {
				d, err := one()
				if err != nil {
					b.Fatal(err)
				}
				timed += int64(d)
			}
			b.ReportMetric(float64(timed)/float64(b.N), "timed-ns/op")
		})
	}
}

func BenchmarkBridge(b *testing.B) {
	list, err := firsts()
	if err != nil {
		b.Fatal(err)
	}
	both, err := crossings()
	if err != nil {
		b.Fatal(err)
	}
	for _, ways := range both {
		ways[1].name += ", ids only"
		list = append(list, ways[:]...)
	}
	for _, w := range list {
		b.Run(w.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := w.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
