package run

import "time"

// growth is how much memory the host has at least in each minute of the fault. Memory that is collected goes up and down: what it comes down to now and
// then is what is kept.
type growth struct{ least []float64 } // bytes, 0 where nobody looked

// growthMinutes is how many there have to be: of fewer an hour cannot be told.
const growthMinutes = 30

// see takes in how much there was so long after the fault began.
func (g *growth) see(after time.Duration, bytes float64) {
	if after < 0 || bytes <= 0 {
		return
	}
	minute := int(after / time.Minute)
	for len(g.least) <= minute {
		g.least = append(g.least, 0)
	}
	if at := &g.least[minute]; *at == 0 || bytes < *at {
		*at = bytes
	}
}

// hourly is by how many percent it grew in an hour, from the least of the first quarter of the minutes to that of the last; false where that cannot be
// told.
func (g *growth) hourly() (percent float64, ok bool) {
	n := len(g.least)
	first, last := least(g.least[:n/4]), least(g.least[n-n/4:])
	if n < growthMinutes || first == 0 || last == 0 {
		return 0, false
	}
	between := time.Duration(n-n/4) * time.Minute // of the beginnings of both
	return (last/first - 1) * 100 * time.Hour.Hours() / between.Hours(), true
}

// least is that of those that are not 0, and 0 where all are.
func least(list []float64) (bytes float64) {
	for _, v := range list {
		if bytes == 0 || v > 0 && v < bytes {
			bytes = v
		}
	}
	return bytes
}
