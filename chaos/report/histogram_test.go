package report

import (
	"math"
	"strings"
	"testing"

	"mcpd/chaos/record"
)

// Each bucket that a run writes is a bar of its own, with no empty bar between them.
func TestEveryBucketIsABar(t *testing.T) {
	var c record.Calls
	for i := -10; i <= 30; i++ {
		c.Histogram = append(c.Histogram, record.Bucket{
			To: math.Round(math.Pow(10, float64(i)/10)*1e5) / 1e5, Calls: 7,
		})
	}
	r := record.Record{
		Groups: []record.Group{{Role: record.Target, Phases: map[string]record.Calls{record.Fault: c}}},
	}
	low, high := -2, 3
	bars := histogramOf(&r, record.Target, record.Fault, "during", c, low, high).Bars
	if got, want := strings.Count(bars, "M"), len(c.Histogram); got != want {
		t.Errorf("%d buckets are %d bars: %s", want, got, bars)
	}
	// the tenth of fifty buckets ends at 100 µs
	if want := "M180 0h17.2v100h-17.2z"; !strings.HasPrefix(bars, want) {
		t.Errorf("the first is %.30s, want %s", bars, want)
	}
}
