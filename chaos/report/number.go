package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"mcpd/internal/chart"
	"mcpd/telemetry"
)

// nothing stands in place of a missing number.
const nothing = chart.Nothing

// apart is the no-break space between a number and its unit. In texts of a host it is an escape.
// Where lines are not broken it is replaced by plain.
const (
	apart = chart.Apart
	plain = " "
)

// countNoun returns a number with its noun in the singular or the plural.
func countNoun[N int | int64 | uint64](n N, one, many string) string {
	if n == 1 {
		return "1" + apart + one
	}
	return chart.Count(n) + apart + many
}

// outOf returns "none of 12" or "3 of 12".
func outOf(n, all uint64) string {
	if n == 0 {
		return "none of " + chart.Count(all)
	}
	return chart.Count(n) + " of " + chart.Count(all)
}

// millis formats a latency. No latency is shorter than a nanosecond, so 0 means that no call was
// OK.
func millis(v float64) string {
	switch {
	case !chart.Finite(v) || v <= 0:
		return nothing
	case v < 1:
		return strconv.FormatFloat(v, 'f', 2, 64) + apart + "ms"
	case v < 1000:
		return chart.ThreeDigits(v) + apart + "ms"
	}
	return chart.ThreeDigits(v/1000) + apart + "s"
}

// seconds formats a time of the run.
func seconds(v float64) string {
	if !chart.Finite(v) {
		return nothing
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + apart + "s"
}

// quantity formats a number with its unit.
func quantity(v float64, unit string) string {
	switch {
	case !chart.Finite(v):
		return nothing
	case unit == "ms":
		if v > 0 {
			return millis(v)
		}
	case unit == "bytes" || unit == "B":
		return bytesOf(v)
	}
	return strings.TrimSpace(chart.ThreeDigits(v) + apart + telemetry.Clean(unit, maxWord))
}

func bytesOf(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if math.Abs(v) >= u.size {
			return chart.ThreeDigits(v/u.size) + apart + u.name
		}
	}
	return chart.ThreeDigits(v) + apart + "B"
}

// joinNames joins names. It shows at most three of them and counts the others.
func joinNames(names []string) string {
	const most = 3
	if rest := len(names) - most; rest > 0 {
		names = append(slices.Clone(names[:most]), countNoun(rest, "other", "others"))
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// sorted returns the samples that are finite numbers, in ascending order.
func sorted(samples []float64) []float64 {
	list := slices.DeleteFunc(slices.Clone(samples), func(v float64) bool { return !chart.Finite(v) })
	slices.Sort(list)
	return list
}

// median returns the middle element of a sorted list, or the lower of the two middle elements.
func median(sorted []float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[(len(sorted)-1)/2]
}
