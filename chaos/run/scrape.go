package run

import (
	"strconv"
	"strings"
)

// scrape is one response of /metrics.
type scrape []byte

// sum sums the samples of a metric. The metric is a name, or name{label="value",…}, of which a
// sample must have every label. It returns false if there are no samples.
func (s scrape) sum(metric string) (sum float64, ok bool) {
	for _, sample := range s.samples(metric) {
		sum, ok = sum+sample.value, true
	}
	return sum, ok
}

// sample is one line of a scrape.
type sample struct {
	labels string
	value  float64
}

func (s scrape) samples(metric string) (list []sample) {
	name, wanted, _ := strings.Cut(strings.TrimSuffix(metric, "}"), "{")
	for line := range strings.Lines(string(s)) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		at := strings.LastIndexByte(rest, ' ')
		labels := strings.Trim(rest[:at], "{}")
		value, err := strconv.ParseFloat(strings.TrimSpace(rest[at+1:]), 64)
		if err == nil && has(labels, wanted) {
			list = append(list, sample{labels, value})
		}
	}
	return list
}

// has reports whether labels contain all the wanted labels, which are written in the same way.
func has(labels, wanted string) bool {
	for part := range strings.SplitSeq(wanted, ",") {
		if part = strings.TrimSpace(part); part != "" && !strings.Contains(","+labels+",", ","+part+",") {
			return false
		}
	}
	return true
}

// label returns the value of a label.
func (s sample) label(name string) string {
	_, rest, _ := strings.Cut(","+s.labels, ","+name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
