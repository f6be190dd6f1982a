package record

// Restarted is the name of the event that tells of a row's new instance.
const Restarted = "child_restarted"

// Beginnings are how often a row began anew.
type Beginnings struct {
	Restarts     int // by its own supervisor
	Incarnations int // those, and those with the rows above it
}

// Times is how often it began anew in all.
func (b Beginnings) Times() int { return max(b.Restarts, b.Incarnations) }

// Beginnings are how often each row began anew, by path: as it counts it, or as events tell it where there is more of that. One that was replaced as
// a whole after it restarted has forgotten what it counted, or is gone, and a feed that breaks may have missed some events.
func (r *Record) Beginnings() map[string]Beginnings {
	all := map[string]Beginnings{}
	for _, e := range r.Events {
		if e.Name == Restarted && e.At >= 0 {
			b := all[e.Path]
			b.Restarts++
			all[e.Path] = b
		}
	}
	for _, row := range r.Rows {
		all[row.Path] = Beginnings{max(all[row.Path].Restarts, row.Restarts), row.Incarnations}
	}
	return all
}

// Restarts is how often rows were restarted by their own supervisors: the one count that verdicts and reports tell.
func (r *Record) Restarts() (n int) {
	for _, b := range r.Beginnings() {
		n += b.Restarts
	}
	return n
}
