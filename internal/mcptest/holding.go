package mcptest

import (
	"strconv"
	"strings"
	"testing"
)

// Goroutines parses a profile of goroutines (debug=1) and counts the goroutines by the function
// with which they were started. Each group of the profile begins with its number of goroutines, and
// ends with their first function.
func Goroutines(profile string) map[string]int {
	running := map[string]int{}
	n, runs := 0, ""
	for line := range strings.Lines(profile + "\n") {
		switch fields := strings.Fields(line); {
		case len(fields) == 0:
			if n > 0 {
				running[runs] += n
			}
			n, runs = 0, ""
		case len(fields) > 1 && fields[1] == "@":
			n, _ = strconv.Atoi(fields[0])
		case len(fields) > 2 && fields[0] == "#":
			runs, _, _ = strings.Cut(fields[2], "+")
		}
	}
	return running
}

// SumMetric sums the samples of a host's metrics whose name and labels begin with the text begin.
func SumMetric(t testing.TB, metrics, begin string) (sum float64) {
	t.Helper()
	for line := range strings.Lines(metrics) {
		sample, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(sample, begin) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("metric %s: %v", line, err)
		}
		sum += n
	}
	return sum
}
