package report

import (
	"mcpd/chaos/record"
	"mcpd/internal/chart"
)

// tally sums the calls of all tenants of a role. Failed counts calls that failed, were lost, or
// were crossed.
type tally struct {
	Tenants                []string
	Calls, Failed, Doubled uint64
	// Before, During and Healing are sums. Their quantiles are those of the worst tenant, since
	// quantiles cannot be added.
	Before, During, Healing record.Calls
}

func failed(c record.Calls) uint64 { return c.Failed + c.Lost + c.Crossed }

// tallyOf sums the groups of a role.
func tallyOf(r *record.Record, role string) (t tally) {
	for _, g := range r.Groups {
		if g.Role != role {
			continue
		}
		t.Tenants = append(t.Tenants, name(g.Tenant))
		for _, c := range g.Phases {
			t.Calls += c.Sent
			t.Failed += failed(c)
			t.Doubled += c.Duplicate
		}
		for _, p := range []struct {
			name string
			sum  *record.Calls
		}{{record.Baseline, &t.Before}, {record.Fault, &t.During}, {record.Heal, &t.Healing}} {
			add(p.sum, g.Phases[p.name])
		}
	}
	return t
}

func add(sum *record.Calls, c record.Calls) {
	sum.Sent += c.Sent
	sum.OK += c.OK
	sum.Failed += c.Failed
	sum.Refused += c.Refused
	sum.Lost += c.Lost
	sum.Crossed += c.Crossed
	sum.Duplicate += c.Duplicate
	for _, q := range []struct {
		sum *float64
		of  float64
	}{{&sum.P50, c.P50}, {&sum.P90, c.P90}, {&sum.P99, c.P99}, {&sum.P999, c.P999},
		{&sum.Max, c.Max}} {
		if chart.Finite(q.of) {
			*q.sum = max(*q.sum, q.of)
		}
	}
}

// merge sums the tallies of several experiments.
func merge(list []tally) (t tally) {
	for _, one := range list {
		t.Calls += one.Calls
		t.Failed += one.Failed
		t.Doubled += one.Doubled
	}
	return t
}
