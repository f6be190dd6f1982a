package record

// Restarted is the name of the event that reports a row's new incarnation.
const Restarted = "child_restarted"

// StartCounts counts how often a row began anew.
type StartCounts struct {
	Restarts     int // by its own supervisor
	Incarnations int // those, and restarts together with the rows above it
}

// Times returns how often the row began anew in all.
func (b StartCounts) Times() int { return max(b.Restarts, b.Incarnations) }

// StartCounts counts how often each row began anew, by path. The number of restarts is the larger
// of the row's own count and the number of events. The row's own count is too small if the row was
// replaced after it had restarted, or is missing if the row is gone. The number of events is too
// small if the feed broke and missed some.
func (r *Record) StartCounts() map[string]StartCounts {
	all := map[string]StartCounts{}
	for _, e := range r.Events {
		if e.Name == Restarted && e.At >= 0 {
			b := all[e.Path]
			b.Restarts++
			all[e.Path] = b
		}
	}
	for _, row := range r.Rows {
		all[row.Path] = StartCounts{max(all[row.Path].Restarts, row.Restarts), row.Incarnations}
	}
	return all
}

// Restarts returns how often rows were restarted by their own supervisors. Verdicts and reports all
// use this number.
func (r *Record) Restarts() (n int) {
	for _, b := range r.StartCounts() {
		n += b.Restarts
	}
	return n
}
