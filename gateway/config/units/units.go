// Package units parses and formats times and sizes in the form that people write in a file.
package units

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// sizes are the units of bytes, the largest first.
var sizes = []struct {
	suffix string
	bytes  int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// ParseSize parses a number of bytes with a unit, such as 4MiB.
func ParseSize(text string) (bytes int64, ok bool) {
	for _, u := range sizes {
		if digits, has := strings.CutSuffix(text, u.suffix); has {
			n, err := strconv.ParseInt(digits, 10, 64)
			if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
				return 0, false
			}
			return n * u.bytes, true
		}
	}
	return 0, false
}

// FormatSize formats a size with the largest unit that leaves a whole number.
func FormatSize(bytes int64) string {
	for _, u := range sizes {
		if bytes >= u.bytes && bytes%u.bytes == 0 {
			return strconv.FormatInt(bytes/u.bytes, 10) + u.suffix
		}
	}
	return "0B"
}

// FormatSpan formats a duration without the zeros of Duration.String: 24h, not 24h0m0s.
func FormatSpan(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
