package gateway

import (
	"testing"

	"mcpd/bench/kit"
	"mcpd/internal/load"
)

// Exactly the calls of a round are counted: two rounds of one process have the same count.
func TestCallsAreCountedOnTheHeap(t *testing.T) {
	var all processes
	defer func() {
		if err := all.stop(); err != nil {
			t.Error(err)
		}
	}()
	targets, err := startHTTP(t.Context(), &all)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		if target.name != limit {
			continue
		}
		if err := target.open(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		var rounds [3]kit.Usage
		for i := range rounds {
			var counts load.Counts
			if rounds[i], counts, err = target.allocated(t.Context(), i); err != nil ||
				counts.OK != counted {
				t.Fatal(counts, err)
			}
		}
		a, b := rounds[1], rounds[2]
		if a.Objects < 10 || a.Objects > 500 || a.Allocated < 8*a.Objects || a.Objects > 1.1*b.Objects ||
			b.Objects > 1.1*a.Objects {
			t.Errorf("%+v, then %+v", a, b)
		}
		if err := target.shut(); err != nil {
			t.Error(err)
		}
	}
}
