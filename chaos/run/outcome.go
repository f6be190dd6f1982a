package run

import (
	"context"

	"mcpd/chaos/faults"
	"mcpd/chaos/record"
)

// record returns the record of the run without events, probes, effects and figures.
func (r *run) record(phases []record.Phase, done []struck,
	before, after measurement) record.Record {
	e := r.Experiment
	out := record.Record{
		Format: record.Format, Begun: r.begun, Seed: r.Seed, Phases: phases, Host: r.host(),
		Experiment: record.Experiment{
			Name: e.Name, Title: e.Title, Hypothesis: e.Hypothesis, Catalogue: e.CatalogueIDs,
			Contends: e.Contends, Short: r.Short,
			Restarts: map[string][2]int{}, Recovery: e.Expect.Recovery.Seconds(),
			TargetErrors: int64(e.Expect.TargetErrors),
		},
		Rows: rows(before, after), Holdings: r.holdings(before, after),
	}
	for _, pattern := range e.Expect.MayRestart {
		out.Experiment.MayRestart = append(out.Experiment.MayRestart, r.roles.Expand(pattern))
	}
	for pattern, n := range e.Expect.Restarts {
		pattern = r.roles.Expand(pattern)
		if n.Hits {
			n.Low = hits(done, pattern)
			n.High = n.Low
		}
		out.Experiment.Restarts[pattern] = [2]int{n.Low, n.High}
	}
	for _, s := range done {
		out.Strikes = append(out.Strikes, s.Strike)
	}
	for _, t := range r.traffic {
		g := t.book.group()
		t.listener.addTo(&g)
		out.Groups = append(out.Groups, g)
	}
	return out
}

// hits returns how often faults have ended an incarnation of rows that match a pattern, as far as
// the rows that they hit are known.
func hits(done []struck, pattern string) (n int) {
	for _, s := range done {
		if s.Fatal && s.mayHit(pattern) {
			n += s.Hits
		}
	}
	return n
}

// mayHit reports whether the strike can have hit rows that match a pattern. A strike at a server,
// or at a tenant's servers, can hit the rows below them. A strike whose target is not known can hit
// every row.
func (s struck) mayHit(pattern string) bool {
	switch p := s.plan; {
	case p.Row != "":
		return faults.Match(pattern, p.Row)
	case p.Server != "":
		return faults.Reaches(pattern, faults.ServerPath(p.Tenant, p.Server))
	case p.Tenant != "":
		return faults.Reaches(pattern, faults.ServersPath(p.Tenant))
	}
	return true
}

func (r *run) host() record.Host {
	h := record.Host{System: "unknown"}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	if s, err := r.operator.scrape(ctx); err == nil {
		for _, x := range s.samples("mcpd_build_info") {
			h.Version, h.Go = x.label("version"), x.label("goversion")
		}
	}
	if r.pid.Load() > 0 {
		h.CPU, h.Cores, h.System = machine()
	}
	return h
}

// rows compares the rows of two looks, by path. Rows of pools come and go, so that a row that is
// gone without a restart means nothing.
func rows(before, after measurement) (list []record.Row) {
	if !after.measured() {
		return nil // otherwise all rows would seem to be gone
	}
	was := map[string]faults.Row{}
	for _, row := range before.tree {
		was[row.Path] = row
	}
	for _, row := range after.tree {
		b := was[row.Path]
		// the row counts from zero
		if delete(was, row.Path); restarted(before, after) || row.Restarts < b.Restarts {
			b.Restarts, b.Incarnation = 0, min(1, row.Incarnation)
		}
		list = append(list, record.Row{
			Path: row.Path, Type: row.Type, Before: b.Status, After: row.Status,
			Restarts:     row.Restarts - b.Restarts,
			Incarnations: max(0, row.Incarnation-max(1, b.Incarnation)),
		})
	}
	for _, row := range before.tree {
		if _, gone := was[row.Path]; gone {
			list = append(list, record.Row{Path: row.Path, Type: row.Type, Before: row.Status})
		}
	}
	return list
}
