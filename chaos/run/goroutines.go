package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mcpd/telemetry/admin"
)

// Patterns of a text profile of goroutines: the number of goroutines with one stack, and a function
// of that stack.
var (
	sameStack = regexp.MustCompile(`^(\d+) @`)
	frame     = regexp.MustCompile(`^#\t0x[0-9a-f]+\t(\S+)\+0x`)
)

// maxMore bounds the number of functions in a finding.
const maxMore = 3

// goroutines counts the host's goroutines by the function with which each began. The total alone
// does not show which goroutine has leaked.
func (r *run) goroutines(ctx context.Context) map[string]int {
	data, err := r.operator.ask(ctx, http.MethodGet, "/debug/pprof/goroutine?debug=1",
		admin.Write, nil)
	if err != nil {
		return nil // a metric gives the total; only the names are missing
	}
	return byStart(string(data))
}

// byStart counts the goroutines of a profile by the last function of their stack.
func byStart(profile string) map[string]int {
	counts := map[string]int{}
	n, last := 0, ""
	for line := range strings.Lines(profile + "\n") {
		if m := sameStack.FindStringSubmatch(line); m != nil {
			n, _ = strconv.Atoi(m[1]) // they are digits
			last = ""
			continue
		}
		if m := frame.FindStringSubmatch(line); m != nil {
			last = m[1]
			continue
		}
		if strings.TrimSpace(line) == "" && last != "" {
			counts[last] += n
			n, last = 0, ""
		}
	}
	return counts
}

// more names the functions that have more goroutines than before, the largest growth first.
func more(before, after map[string]int) string {
	names := slices.SortedFunc(maps.Keys(after), func(a, b string) int {
		return cmp.Or(cmp.Compare(after[b]-before[b], after[a]-before[a]), strings.Compare(a, b))
	})
	var list []string
	for _, name := range names[:min(len(names), maxMore)] {
		if n := after[name] - before[name]; n > 0 {
			list = append(list, fmt.Sprintf("%d more in %s", n, name))
		}
	}
	return strings.Join(list, ", ")
}
