package run

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"mcpd/chaos/experiment"
	"mcpd/chaos/faults"
	"mcpd/chaos/record"
)

// figures adds the figures that are derived from events and calls and those that faults have
// measured, with the goals of the experiment. An expected figure that was not measured has no
// samples.
func (r *run) figures(out *record.Record, done []struck) {
	samples := map[string][]float64{}
	last := 0.0
	for _, s := range done {
		last = max(last, s.To)
		for name, measured := range s.figures {
			samples[name] = append(samples[name], measured...)
		}
	}
	if len(done) > 0 && out.Aborted == "" {
		samples["recovery_s"] = []float64{
			r.traffic[0].book.steady(time.Duration(last*float64(time.Second)), r.longest).Seconds(),
		}
	}
	if v, ok := r.growth.hourly(); ok {
		samples["growth_percent"] = []float64{v}
	}
	aimed := map[string]string{} // fault -> row
	for _, s := range done {
		aimed[s.ID] = s.plan.Row
	}
	hit := map[string]float64{} // row -> time of the first hit that the host has not detected yet
	for _, e := range out.Events {
		at, known := hit[e.Path]
		switch row := aimed[e.Fields["fault"]]; e.Name {
		case "fault_hit":
			if _, known := hit[row]; row != "" && !known {
				hit[row] = e.At
			}
		case record.Restarted:
			if took, err := time.ParseDuration(e.Fields["took"]); err == nil &&
				inside(out.Experiment.MayRestart, e.Path) {
				samples["restart_ms"] = append(samples["restart_ms"], took.Seconds()*1000)
			}
		case "child_crashed":
			// the fault itself was no crash: the row hung, and the host has detected that
			if row == "" && known {
				samples["detect_ms"] = append(samples["detect_ms"], (e.At-at)*1000)
			}
			delete(hit, e.Path)
		}
	}
	for name, values := range outages(out.Events, done) {
		samples[name] = append(samples[name], values...)
	}
	goals := maps.Clone(r.Experiment.Expect.Figures)
	for name := range goals {
		if _, ok := samples[name]; !ok {
			samples[name] = nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		q, _ := experiment.QuantityOf(name)
		f := record.Figure{
			Name: name, Unit: q.Unit, Samples: samples[name], Goal: goals[name].Goal,
			Reason: goals[name].Because, DuringFault: q.Meanwhile,
		}
		if name == "recovery_s" && f.Goal == 0 {
			f.Goal = out.Experiment.Recovery
		}
		out.Figures = append(out.Figures, f)
	}
}

// outages measures the servers that were struck: the time from the strike until the host notices
// the loss, and the length of the outage. The first loss of a server after a strike, and before the
// next strike at it, is attributed to that strike.
func outages(events []record.Event, done []struck) map[string][]float64 {
	samples := map[string][]float64{}
	type server struct{ tenant, name string }
	lost := map[server]bool{} // lost by a strike, and not ready again
	hit := map[server]float64{}
	next := 0
	byTime := slices.SortedFunc(slices.Values(done), func(a, b struck) int {
		return cmp.Compare(a.at, b.at)
	})
	for _, e := range events {
		for ; next < len(byTime) && byTime[next].From <= e.At; next++ {
			if s := byTime[next]; s.plan.Server != "" && s.Error == "" {
				hit[server{s.plan.Tenant, s.plan.Server}] = s.at
			}
		}
		of := server{e.Tenant, e.Server}
		switch at, struck := hit[of]; {
		case e.Name == "upstream_exited" && struck:
			samples["detect_ms"] = append(samples["detect_ms"], max(0, e.At-at)*1000)
			lost[of] = true
			delete(hit, of)
		case e.Name == "upstream_ready" && lost[of]:
			if down, err := time.ParseDuration(e.Fields["down"]); err == nil {
				samples["down_ms"] = append(samples["down_ms"], down.Seconds()*1000)
			}
			delete(lost, of)
		}
	}
	return samples
}

// longest returns the greatest latency of bystanders' calls that were due in the second of that
// time.
func (r *run) longest(at time.Duration) (took time.Duration) {
	for _, t := range r.traffic[1:] {
		took = max(took, t.book.longest(at))
	}
	return took
}

func inside(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return faults.Match(p, path) })
}
