package record

import "slices"

// inSeconds are the units of figures that are times.
var inSeconds = map[string]float64{"ms": 0.001, "s": 1}

// Unmeasured returns the figures that the run had no chance to measure. They can be measured only
// while a fault lasts, their goals allow more time than any fault that struck has lasted, and they
// have no samples. If a silent fault struck and nothing is known or expected about its detection,
// the figure of detection is untested too.
func (r *Record) Unmeasured() (list []Figure) {
	lasted := r.LongestFault()
	for _, f := range r.Figures {
		if f.DuringFault && len(f.Samples) == 0 && lasted > 0 && f.Goal*inSeconds[f.Unit] > lasted {
			list = append(list, f)
		}
	}
	found := slices.ContainsFunc(r.Figures, func(f Figure) bool {
		return f.Name == detect && (len(f.Samples) > 0 || f.Goal > 0)
	})
	silent := slices.ContainsFunc(r.Strikes, func(s Strike) bool {
		return s.Silent && s.Error == "" && s.Hits > 0
	})
	if silent && !found {
		list = append(list, Figure{Name: detect, Unit: "ms", DuringFault: true})
	}
	return list
}

// detect is the figure of the time until the host detects a fault.
const detect = "detect_ms"

// LongestFault returns the length of the longest fault that struck, in seconds, or 0 if none did.
func (r *Record) LongestFault() (longest float64) {
	for _, s := range r.Strikes {
		if s.Error == "" && s.Hits > 0 {
			longest = max(longest, s.To-s.From)
		}
	}
	return longest
}
