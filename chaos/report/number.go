package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"mcpd/internal/draw"
	"mcpd/telemetry"
)

// nothing stands where there is no number.
const nothing = draw.Nothing

// apart is between a number and its unit, where no line is broken. In a host's texts it is an escape. Where nothing breaks lines it is replaced by plain.
const (
	apart = draw.Apart
	plain = " "
)

// things is a number of what there can be one of.
func things[N int | int64 | uint64](n N, one, many string) string {
	if n == 1 {
		return "1" + apart + one
	}
	return draw.Count(n) + apart + many
}

// of is "none of 12" or "3 of 12".
func of(n, all uint64) string {
	if n == 0 {
		return "none of " + draw.Count(all)
	}
	return draw.Count(n) + " of " + draw.Count(all)
}

// millis is a latency. None is shorter than a nanosecond, so 0 stands for calls of which none was OK.
func millis(v float64) string {
	switch {
	case !draw.Finite(v) || v <= 0:
		return nothing
	case v < 1:
		return strconv.FormatFloat(v, 'f', 2, 64) + apart + "ms"
	case v < 1000:
		return draw.Three(v) + apart + "ms"
	}
	return draw.Three(v/1000) + apart + "s"
}

// seconds is a time of the run.
func seconds(v float64) string {
	if !draw.Finite(v) {
		return nothing
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + apart + "s"
}

// quantity is a number in its unit.
func quantity(v float64, unit string) string {
	switch {
	case !draw.Finite(v):
		return nothing
	case unit == "ms":
		if v > 0 {
			return millis(v)
		}
	case unit == "bytes" || unit == "B":
		return bytesOf(v)
	}
	return strings.TrimSpace(draw.Three(v) + apart + telemetry.Clean(unit, maxWord))
}

func bytesOf(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if math.Abs(v) >= u.size {
			return draw.Three(v/u.size) + apart + u.name
		}
	}
	return draw.Three(v) + apart + "B"
}

// and joins names, of which at most three are named.
func and(names []string) string {
	const most = 3
	if rest := len(names) - most; rest > 0 {
		names = append(slices.Clone(names[:most]), things(rest, "other", "others"))
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// sorted are the samples that are numbers, the smallest first.
func sorted(samples []float64) []float64 {
	list := slices.DeleteFunc(slices.Clone(samples), func(v float64) bool { return !draw.Finite(v) })
	slices.Sort(list)
	return list
}

// median is the middle of what is sorted, and what is below it where there is no middle.
func median(sorted []float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[(len(sorted)-1)/2]
}
