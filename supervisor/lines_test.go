package supervisor

import (
	"strings"
	"testing"
	"time"
)

// Log lines of a flooding server are reported at a limited rate, and every line is counted.
func TestLinesOfAServerAreSampled(t *testing.T) {
	told, all := 0, uint32(0)
	l := &lineLimiter{report: func(count uint32, sample string) {
		told++
		all += count
		if len(sample) > maxSample {
			t.Errorf("%d bytes of a line", len(sample))
		}
	}}
	now := time.Unix(1000, 0)
	const flood = 100_000
	long := strings.Repeat("x", 10_000)
	for range flood { // within 2 s
		l.line(now, long)
		now = now.Add(2 * time.Second / flood)
	}
	if at := 500 + 2*50; told < at-1 || told > at {
		t.Errorf("told of %d times, want 500 at once and 50 in each second", told)
	}
	now = now.Add(time.Hour)
	l.line(now, "one more")
	if all != flood+1 {
		t.Errorf("told of %d lines in %d times, want all %d", all, told, flood+1)
	}
}
