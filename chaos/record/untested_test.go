package record

import "testing"

// A figure that can be measured only while a fault lasts is untested if no fault lasted as long as
// the figure's goal.
func TestFiguresThatAFaultWasTooShortForAreUntested(t *testing.T) {
	detect := Figure{Name: "detect_ms", Unit: "ms", Goal: 5100, DuringFault: true}
	shown, later, free := detect, detect, detect
	shown.Samples, later.DuringFault, free.Goal = []float64{3}, false, 0
	silent := []Strike{{From: 6, To: 9, Hits: 1, Silent: true}}
	missed, refused := []Strike{{From: 6, To: 9, Silent: true}}, []Strike{
		{From: 6, To: 9, Hits: 1, Silent: true, Error: "no process"},
	}
	strike := func(lasted float64) []Strike { return []Strike{{From: 6, To: 6 + lasted, Hits: 1}} }
	for _, c := range []struct {
		name string
		r    Record
		want bool
	}{
		{"too short", Record{Figures: []Figure{detect}, Strikes: strike(4)}, true},
		{"one of two long enough",
			Record{Figures: []Figure{detect}, Strikes: append(strike(4), strike(6)...)}, false},
		{"that one met nothing", Record{Figures: []Figure{detect},
			Strikes: append(strike(4), Strike{To: 60})}, true},
		{"that one was not injected",
			Record{Figures: []Figure{detect},
				Strikes: append(strike(4), Strike{To: 60, Hits: 1, Error: "not healed"})}, true},
		{"nothing struck", Record{Figures: []Figure{detect}, Strikes: []Strike{{To: 4}}}, false},
		{"measured all the same", Record{Figures: []Figure{shown}, Strikes: strike(4)}, false},
		{"it shows afterwards", Record{Figures: []Figure{later}, Strikes: strike(4)}, false},
		{"without a goal", Record{Figures: []Figure{free}, Strikes: strike(4)}, false},
		{"nobody expects that it is found out", Record{Strikes: silent}, true},
		{"nor has a goal for it", Record{Figures: []Figure{free}, Strikes: silent}, true},
		{"it was found out", Record{Figures: []Figure{shown}, Strikes: silent}, false},
		{"it is expected, and told once", Record{Figures: []Figure{detect}, Strikes: silent}, true},
		{"nothing hangs", Record{Strikes: missed}, false},
		{"nothing was made to hang", Record{Strikes: refused}, false},
		{"in seconds", Record{Figures: []Figure{{Unit: "s", Goal: 5, DuringFault: true}},
			Strikes: strike(4)}, true},
	} {
		if got := c.r.Unmeasured(); (len(got) == 1) != c.want {
			t.Errorf("%s: %v, want %t", c.name, got, c.want)
		}
	}
}
