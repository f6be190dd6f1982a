package run

import (
	"math"
	"testing"
	"time"
)

func TestMemoryThatIsKeptGrows(t *testing.T) {
	for _, test := range []struct {
		label   string
		minutes int
		bytes   func(second int) float64
		want    float64
		ok      bool
	}{
		{"a saw", 60, func(s int) float64 { return 200 + float64(s%37) }, 0, true},
		{"a saw that climbs", 60, func(s int) float64 {
			return 200 + float64(s%30) + 20*float64(s/60)/60
		}, 10, true},
		{"half an hour of it", 30, func(s int) float64 { return 200 + 20*float64(s/60)/60 }, 10, true},
		{"one that sinks", 60, func(s int) float64 { return 400 - 20*float64(s/60)/60 }, -5.06, true},
		{"too short", 29, func(s int) float64 { return 200 }, 0, false},
		{"nothing was seen", 60, func(s int) float64 { return 0 }, 0, false},
	} {
		var g growth
		for s := -10; s < 60*test.minutes; s++ {
			g.see(time.Duration(s)*time.Second, test.bytes(max(s, 0)))
		}
		if got, ok := g.hourly(); ok != test.ok || math.Abs(got-test.want) > 0.05 {
			t.Errorf("%s: %.2f %%, %t; want %.2f", test.label, got, ok, test.want)
		}
	}
}
