package run

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"mcpd/chaos/experiment"
	"mcpd/chaos/faults"
	"mcpd/chaos/record"
	"mcpd/gateway/config/units"
)

// every is the interval of measurements and probes.
const every = time.Second

// guard ends the run when a guard of the experiment trips. It checks more often than probes are
// asked, because it must stop harm early.
func (r *run) guard(ctx context.Context) {
	const step = 250 * time.Millisecond
	limit := r.Experiment.AbortIf
	answered := time.Now()
	for at := 0; sleep(ctx, step) == nil; at++ {
		if status, err := r.operator.status(ctx, "/livez"); err == nil && status == http.StatusOK {
			answered = time.Now()
		}
		if down := time.Since(answered); limit.HostDown > 0 && down > limit.HostDown {
			r.abort("the host has answered nobody for %s", units.FormatSpan(down.Truncate(time.Millisecond)))
		}
		if n := r.bystanderFailures(); limit.BystanderErrors > 0 && n >= uint64(limit.BystanderErrors) {
			r.abort("%d calls of bystanders have failed", n)
		}
		if at%int(every/step) != 0 {
			continue
		}
		s, err := r.operator.scrape(ctx)
		if err != nil {
			continue
		}
		r.peaks.see(s)
		resident, _ := s.sum("process_resident_memory_bytes")
		if limit.Resident > 0 && resident > float64(limit.Resident) {
			r.abort("the host has %.0f MiB of memory", resident/(1<<20))
		}
		if after := time.Since(r.begun) -
			r.Experiment.Phases.Baseline; after < r.Experiment.Phases.Fault {
			r.growth.see(after, resident)
		}
	}
}

// bystanderFailures returns the number of failed calls of bystanders so far.
func (r *run) bystanderFailures() (n uint64) {
	for _, t := range r.traffic {
		if t.role == record.Bystander {
			n += t.book.failures()
		}
	}
	return n
}

// probes returns the probes of the experiment, and a probe of livez.
func (r *run) probes() []experiment.Probe {
	alive := experiment.Probe{Name: "livez", Ask: experiment.AskLive, Want: "200"}
	others := slices.DeleteFunc(slices.Clone(r.Experiment.Probes), func(p experiment.Probe) bool {
		return p.Name == alive.Name
	})
	return append([]experiment.Probe{alive}, others...)
}

// probe asks one probe repeatedly until ctx ends.
func (r *run) probe(ctx context.Context, p experiment.Probe, into *record.Probe) {
	into.Name = p.Name
	for {
		at := r.now()
		is, err := r.answer(ctx, p)
		if ctx.Err() != nil {
			return
		}
		a := record.Answer{At: at, Text: is, OK: err == nil && right(p.Want, is)}
		if err != nil {
			a.Text = err.Error()
		}
		into.Answers = append(into.Answers, a)
		if sleep(ctx, every) != nil {
			return
		}
	}
}

func (r *run) answer(ctx context.Context, p experiment.Probe) (string, error) {
	switch p.Ask {
	case experiment.AskReady, experiment.AskLive:
		status, err := r.operator.status(ctx, "/"+p.Ask)
		return strconv.Itoa(status), err
	case experiment.AskTree:
		tree, err := r.operator.Tree(ctx)
		if err != nil {
			return "", err
		}
		pattern := r.roles.Expand(p.Row)
		for _, row := range tree {
			switch {
			case !faults.Match(pattern, row.Path):
			case row.State != "":
				return row.State, nil
			default:
				return row.Status, nil
			}
		}
		return "no such row", nil
	}
	s, err := r.operator.scrape(ctx)
	if err != nil {
		return "", err
	}
	v, _ := s.sum(r.roles.Expand(p.Metric)) // a counter that is still 0 is missing from the metrics
	return strconv.FormatFloat(v, 'g', -1, 64), nil
}

// right reports whether an answer is the wanted one.
func right(want, is string) bool {
	comparison, bound, ok := experiment.Bound(want)
	if !ok {
		return want == "" || want == is
	}
	limit, _ := strconv.ParseFloat(bound, 64) // the experiment was checked
	v, err := strconv.ParseFloat(is, 64)
	if err != nil {
		return false
	}
	switch comparison {
	case "<=":
		return v <= limit
	case "<":
		return v < limit
	case ">=":
		return v >= limit
	}
	return v > limit
}

// abort ends the run. Only the first reason counts.
func (r *run) abort(format string, args ...any) {
	r.stop(aborted(fmt.Sprintf(format, args...)))
}

// aborted is the reason why a run was ended early.
type aborted string

func (a aborted) Error() string { return string(a) }
