package run

import "testing"

// A named part, such as idle runners for reuse, is neither a leak nor hides one: it is subtracted
// both before and afterwards.
func TestWhatHasANameIsNeitherALeakNorHidesOne(t *testing.T) {
	look := func(goroutines, hung, idle string) measurement {
		s := scrape("go_goroutines " + goroutines + "\nmcpd_actor_hung " + hung +
			"\nmcpd_actor_idle_runners " + idle + "\n")
		h := measurement{values: map[string]float64{}, named: map[string]float64{}}
		for _, row := range held {
			h.values[row.name], h.named[row.name] = row.count(s)
		}
		return h
	}
	before := look("53", "1", "18")
	for _, c := range []struct {
		name  string
		after measurement
		want  bool
	}{
		{"as before", look("53", "1", "18"), true},
		{"four more wait", look("57", "1", "22"), true},
		{"four more wait and one was left", look("58", "1", "22"), false},
		{"fewer wait and as many were left", look("53", "1", "10"), false},
		{"one more hangs", look("54", "2", "18"), true},
		{"one that hung has come back", look("52", "0", "18"), true},
		{"one that hung has come back and another was left", look("53", "0", "18"), false},
	} {
		if got := (&run{}).within(c.after, before); got != c.want {
			t.Errorf("%s: within is %v", c.name, got)
		}
	}
}
