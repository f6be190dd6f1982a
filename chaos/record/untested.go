package record

// inSeconds are the units of figures that are times.
var inSeconds = map[string]float64{"ms": 0.001, "s": 1}

// Untested are the figures of which nothing could be measured for want of time: they show only as long as a fault lasts, their goals allow them longer
// than any fault that struck has lasted, and they have no samples.
func (r *Record) Untested() (list []Figure) {
	lasted := r.Lasted()
	for _, f := range r.Figures {
		if f.Meanwhile && len(f.Samples) == 0 && lasted > 0 && f.Goal*inSeconds[f.Unit] > lasted {
			list = append(list, f)
		}
	}
	return list
}

// Lasted is how long the longest of the faults that struck lasted, in seconds; 0 where none did.
func (r *Record) Lasted() (longest float64) {
	for _, s := range r.Strikes {
		if s.Error == "" && s.Hits > 0 {
			longest = max(longest, s.To-s.From)
		}
	}
	return longest
}
