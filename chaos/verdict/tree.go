package verdict

import (
	"fmt"
	"maps"
	"slices"

	"mcpd/chaos/faults"
	"mcpd/chaos/record"
)

// judgeRestarts judges I9.
func judgeRestarts(r record.Record) (is, found string) {
	if len(r.Rows) == 0 && len(r.Events) == 0 {
		return record.Unjudged, "the host has shown no tree"
	}
	var f findings
	began := r.StartCounts()
	again := 0
	for _, path := range slices.Sorted(maps.Keys(began)) {
		b := began[path]
		again += b.Times()
		if b.Times() > 0 && !within(r.Experiment.MayRestart, path) {
			f.add("%s restarted (%d), and was not to", path, b.Times())
		}
	}
	for _, row := range r.Rows {
		if row.Restarts < 0 {
			f.add("%s has restarted %d times", row.Path, row.Restarts)
		}
		// A row that is gone may have belonged to a pool; a row that exists has to be as it was.
		if row.Before == "running" && row.After != "" && row.After != "running" {
			f.add("%s is %s", row.Path, row.After)
		}
	}
	short := ""
	for _, pattern := range slices.Sorted(maps.Keys(r.Experiment.Restarts)) {
		want, got := r.Experiment.Restarts[pattern], 0
		for path, b := range began {
			if faults.Match(pattern, path) {
				got += b.Restarts
			}
		}
		switch {
		case got < want[0] && (unmetPrecondition(r) != "" || len(r.Rows) == 0):
			short = fmt.Sprintf("%s: %s, want %s", pattern, times(got), interval(want))
		case got < want[0] || got > want[1]:
			f.add("%s: %s, want %s", pattern, times(got), interval(want))
		}
	}
	if len(r.Experiment.Restarts) == 0 && len(r.Rows) > 0 {
		counted(r, again, &f)
	}
	switch {
	case len(f) > 0:
	case len(r.Rows) == 0:
		return record.Unjudged, "the host has shown no tree"
	case short != "":
		return record.Unjudged, unmetPrecondition(r) + "; " + short
	}
	return f.verdict("%s, all of them where expected", times(r.Restarts()))
}

// unmetPrecondition says why the expectations of the experiment do not apply: the run was ended
// early, or nothing has struck. It returns "" if they apply.
func unmetPrecondition(r record.Record) string {
	switch {
	case r.Aborted != "":
		return "the run was ended early"
	case len(r.Strikes) > 0 && !slices.ContainsFunc(r.Strikes, func(s record.Strike) bool {
		return s.Error == "" && s.Hits > 0
	}):
		return "nothing has struck"
	}
	return ""
}

// counted compares restarts with faults if the experiment does not set a number of restarts. It
// does nothing if the host was replaced, because the new host counts from zero.
func counted(r record.Record, again int, f *findings) {
	if h, ok := holding(r, "hosts"); ok && h.After != h.Before {
		return
	}
	hits, other := 0, 0
	for _, s := range r.Strikes {
		if s.Fatal {
			hits += s.Hits
		} else {
			other += s.Hits // those may have ended incarnations too
		}
	}
	if restarts := r.Restarts(); restarts > hits && other == 0 {
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

// things returns a number with its noun.
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
