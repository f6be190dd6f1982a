package record

import "slices"

// inSeconds are the units of figures that are times.
var inSeconds = map[string]float64{"ms": 0.001, "s": 1}

// Untested are the figures of which nothing could be measured for want of time: they show only as long as a fault lasts, their goals allow them longer
// than any fault that struck has lasted, and they have no samples. Where nobody expects any, it is how long the host took to find out what it is not told.
func (r *Record) Untested() (list []Figure) {
	lasted := r.Lasted()
	for _, f := range r.Figures {
		if f.Meanwhile && len(f.Samples) == 0 && lasted > 0 && f.Goal*inSeconds[f.Unit] > lasted {
			list = append(list, f)
		}
	}
	found := slices.ContainsFunc(r.Figures, func(f Figure) bool { return f.Name == detect && (len(f.Samples) > 0 || f.Goal > 0) })
	silent := slices.ContainsFunc(r.Strikes, func(s Strike) bool { return s.Silent && s.Error == "" && s.Hits > 0 })
	if silent && !found {
		list = append(list, Figure{Name: detect, Unit: "ms", Meanwhile: true})
	}
	return list
}

// detect is the figure of what the host has found out.
const detect = "detect_ms"

// Lasted is how long the longest of the faults that struck lasted, in seconds; 0 where none did.
func (r *Record) Lasted() (longest float64) {
	for _, s := range r.Strikes {
		if s.Error == "" && s.Hits > 0 {
			longest = max(longest, s.To-s.From)
		}
	}
	return longest
}
