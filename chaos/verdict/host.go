package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcpd/chaos/faults"
	"mcpd/chaos/record"
)

// ofProcesses are the holdings that I7 is about.
var ofProcesses = []string{"children", "processes", "zombies", "strays"}

// leaks is I6.
func leaks(r record.Record) (is, found string) {
	var f findings
	var good []string
	for _, h := range r.Holds {
		if h.Share > 0 {
			if h.After-h.Before > max(h.Before*h.Share, h.Kept) {
				f.add("%s: %.0f before, %.0f afterwards, at most %.3g %% or %.0f more", h.Name, h.Before, h.After, 100*h.Share, h.Kept)
			}
			good = append(good, fmt.Sprintf("%s %+.1f %%", h.Name, 100*(h.After/h.Before-1)))
		}
		if !h.Exact || slices.Contains(ofProcesses, h.Name) {
			continue
		}
		if h.Surplus() > 0 {
			f.add("%s: %g before%s, %g afterwards%s", h.Name, h.Before, named(h.NamedBefore), h.After, named(h.Named))
		}
		good = append(good, fmt.Sprintf("%s %g", h.Name, h.After))
	}
	if len(good) == 0 {
		return record.Unjudged, "the host could not be measured"
	}
	return f.verdict("%s", strings.Join(good, ", "))
}

func named(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%g of them with a name)", n)
}

// processes is I7.
func processes(r record.Record) (is, found string) {
	var f findings
	var good []string
	for _, name := range ofProcesses {
		h, ok := holding(r, name)
		if !ok {
			continue
		}
		if h.After > h.Before || h.After < h.Before && !again(r) { // another host starts a server with its first call
			f.add("%s: %g before, %g afterwards", name, h.Before, h.After)
		}
		good = append(good, fmt.Sprintf("%s %g", name, h.After))
	}
	if len(good) == 0 {
		return record.Unjudged, "the host could not be measured"
	}
	return f.verdict("%s", strings.Join(good, ", "))
}

// again reports whether the host was started again.
func again(r record.Record) bool {
	h, ok := holding(r, "hosts")
	return ok && h.After != h.Before
}

// bounds is I8.
func bounds(r record.Record) (is, found string) {
	var f findings
	n, near, share := 0, "", 0.0
	for _, h := range r.Holds {
		if h.Limit == 0 {
			continue
		}
		n++
		if h.Peak > h.Limit {
			f.add("%s: %g, limit %g", h.Name, h.Peak, h.Limit)
		}
		if h.Peak/h.Limit > share {
			near, share = h.Name, h.Peak/h.Limit
		}
	}
	if n == 0 {
		return record.Unjudged, "the host has told no limit"
	}
	return f.verdict("%d bounds; nearest: %s, at %.0f %%", n, near, 100*share)
}

// supervision is I9.
func supervision(r record.Record) (is, found string) {
	if len(r.Rows) == 0 {
		return record.Unjudged, "the host has shown no tree"
	}
	var f findings
	restarts, again := 0, 0
	for _, row := range r.Rows {
		restarts += row.Restarts
		again += max(row.Restarts, row.Incarnations)
		switch in := within(r.Experiment.Blast, row.Path); {
		case in && row.Restarts >= 0:
		case row.Restarts != 0 || row.Incarnations > 0:
			f.add("%s restarted (%d), and was not to", row.Path, max(row.Restarts, row.Incarnations))
		}
		// A row that is gone may have been a pool's; one that is there has to be as it was.
		if row.Before == "running" && row.After != "" && row.After != "running" {
			f.add("%s is %s", row.Path, row.After)
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(r.Experiment.Restarts)) {
		want, got := r.Experiment.Restarts[pattern], 0
		for _, row := range r.Rows {
			if faults.Match(pattern, row.Path) {
				got += row.Restarts
			}
		}
		if got < want[0] || got > want[1] {
			f.add("%s: %s, want %s", pattern, times(got), interval(want))
		}
	}
	if len(r.Experiment.Restarts) == 0 {
		counted(r, restarts, again, &f)
	}
	return f.verdict("%s, all of them where expected", times(restarts))
}

// counted holds restarts against faults where the experiment does not say how many there have to be. Rows that were replaced as a whole are not
// counted any more, so that there may be fewer; another host has counted anew.
func counted(r record.Record, restarts, again int, f *findings) {
	if h, ok := holding(r, "hosts"); ok && h.After != h.Before {
		return
	}
	hits, other := 0, 0
	for _, s := range r.Strikes {
		if s.Fatal {
			hits += s.Hits
		} else {
			other += s.Hits // which may have ended some too
		}
	}
	if restarts > hits && other == 0 {
		f.add("%s, and faults ended %d incarnations", times(restarts), hits)
	}
	if hits > 0 && again == 0 {
		f.add("faults ended %d incarnations, and nothing restarted", hits)
	}
}

func within(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return faults.Match(p, path) })
}

func times(n int) string { return things(n, "restart") }

// things is so many of them.
func things(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func interval(want [2]int) string {
	if want[0] == want[1] {
		return fmt.Sprint(want[0])
	}
	return fmt.Sprintf("%d to %d", want[0], want[1])
}

// durability is I12, as far as sessions show it.
func durability(r record.Record) (is, found string) {
	if h, ok := holding(r, "hosts"); !ok || h.After == h.Before {
		return record.Unjudged, "the host was not started again"
	}
	var f findings
	if again, _ := holding(r, "sessions again"); again.After > 0 {
		f.add("%g sessions were forgotten", again.After)
	}
	if h, ok := holding(r, "sessions"); ok && h.After < h.Before {
		f.add("%g sessions before, %g afterwards", h.Before, h.After)
	}
	return f.verdict("no session was forgotten")
}
