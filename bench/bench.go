package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcpd/bench/actor"
	"mcpd/bench/core"
	"mcpd/bench/gateway"
	"mcpd/bench/kit"
	"mcpd/bench/memory"
	"mcpd/bench/record"
	"mcpd/bench/start"
	"mcpd/bench/subject"
)

// All are the scenarios, in the order in which they are run and shown.
var All = slices.Concat(actor.Scenarios, gateway.Scenarios, memory.Scenarios, start.Scenarios,
	core.Scenarios)

// Roles are the processes that the scenarios need.
var Roles = slices.Concat(subject.Roles, start.Roles, actor.Roles, gateway.Roles)

// Options are the options of a run.
type Options struct {
	Names   []string // of scenarios; none means all
	Short   bool
	Seed    uint64
	Version string // of mcpd
	Say     func(format string, args ...any)
}

// Run runs scenarios one after the other. If the run is ended early, the record still has
// everything that was measured.
func Run(ctx context.Context, o Options) (record.Record, error) {
	list, err := chosen(o.Names)
	if err != nil {
		return record.Record{}, err
	}
	begun, before := time.Now(), used()
	r := &kit.Run{Short: o.Short, Seed: o.Seed, Say: o.Say, Record: record.Record{
		Format: record.Format, Machine: machine(ctx, o.Version), Begun: begun.UTC().Truncate(time.Second),
		Seed: o.Seed, Short: o.Short,
	}}
	for _, s := range list {
		if ctx.Err() != nil {
			r.Miss(s.Name, "", "%s", interrupted)
			continue
		}
		o.Say("%s: %s", s.Name, s.Title)
		this, since := record.Scenario{Name: s.Name, Title: s.Title, What: s.Description}, time.Now()
		err := s.Measure(ctx, r)
		this.Seconds = time.Since(since).Seconds()
		r.Record.Scenarios = append(r.Record.Scenarios, this)
		switch {
		case ctx.Err() != nil: // an interrupted scenario is not broken
			r.Miss(s.Name, "", "%s", interrupted)
		case err != nil:
			r.Record.Missing = append(r.Record.Missing, record.Missing{
				Scenario: s.Name, Reason: err.Error(), Broken: true,
			})
		}
		markOutstanding(&r.Record)
	}
	r.Record.Seconds = time.Since(begun).Seconds()
	r.Record.OtherLoad = used().others(before) / r.Record.Seconds
	return r.Record, ctx.Err()
}

// interrupted is the reason why a scenario lacks measurements.
const interrupted = "the run was interrupted"

// chosen returns the scenarios with these names, in the order of All.
func chosen(names []string) ([]kit.Scenario, error) {
	if len(names) == 0 {
		return All, nil
	}
	var known []string
	for _, s := range All {
		known = append(known, s.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no scenario %q, but %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(All), func(s kit.Scenario) bool {
		return !slices.Contains(names, s.Name)
	}), nil
}
