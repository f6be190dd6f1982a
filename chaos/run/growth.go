package run

import "time"

// growth records the lowest memory use of the host in each minute of the fault. Garbage-collected
// memory goes up and down; the lows show how much is retained.
type growth struct{ least []float64 } // bytes, 0 for a minute without a measurement

// growthMinutes is the least number of minutes from which hourly can extrapolate.
const growthMinutes = 30

// see records the memory at a time after the fault began.
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

// hourly returns the growth in percent an hour, from the low of the first quarter of the minutes to
// that of the last quarter. It returns false if there are too few minutes, or if one of the
// quarters has no measurement.
func (g *growth) hourly() (percent float64, ok bool) {
	n := len(g.least)
	first, last := least(g.least[:n/4]), least(g.least[n-n/4:])
	if n < growthMinutes || first == 0 || last == 0 {
		return 0, false
	}
	between := time.Duration(n-n/4) * time.Minute // between the beginnings of both quarters
	return (last/first - 1) * 100 * time.Hour.Hours() / between.Hours(), true
}

// least returns the smallest value that is not 0, or 0 if all are.
func least(list []float64) (bytes float64) {
	for _, v := range list {
		if bytes == 0 || v > 0 && v < bytes {
			bytes = v
		}
	}
	return bytes
}
