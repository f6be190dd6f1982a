package run

import (
	"reflect"
	"testing"

	"mcpd/chaos/experiment"
	"mcpd/chaos/faults"
	"mcpd/chaos/record"
)

// A host that is gone has no measurements afterwards: rows do not count as gone, and numbers do not
// count as 0.
func TestAHostThatIsGoneIsNotMeasured(t *testing.T) {
	before := measurement{
		values: map[string]float64{"goroutines": 40, children: 3, liveHeap: 1e7, started: 7},
		tree:   faults.Tree{{Path: "mcpd", Status: "running"}},
	}
	r := &run{peaks: newPeaks()}
	for _, h := range r.holdings(before, measurement{}) {
		if h.Exact && !h.Unmeasured {
			t.Errorf("%s was measured: %+v", h.Name, h)
		}
		if h.Name == liveHeap || h.Name == hosts && h.After != 1 {
			t.Errorf("%+v", h)
		}
	}
	if list := rows(before, measurement{}); list != nil {
		t.Errorf("%v", list)
	}
}

// A guard that ends a run is not a limit of the host: exceeding it is reported only as the reason
// of the end.
func TestAGuardIsNoLimit(t *testing.T) {
	if got := limitsOf(about{}); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := limitsOf(about{ResidentMax: 1000}); got[residentBytes] != 1000 {
		t.Errorf("%v", got)
	}
}

// A row of a pool that was removed and created again counts from zero. Its earlier restarts are not
// subtracted.
func TestRowsThatCameAgainCountAnew(t *testing.T) {
	tree := func(restarts, incarnation int) measurement {
		return measurement{
			tree: faults.Tree{
				{Path: "mcpd/x", Type: "worker", Status: "running", Restarts: restarts,
					Incarnation: incarnation},
			},
		}
	}
	for _, c := range []struct {
		before, after          measurement
		restarts, incarnations int
	}{
		{tree(1, 2), tree(3, 4), 2, 2},
		{tree(1, 2), tree(1, 2), 0, 0},
		{tree(1, 2), tree(0, 1), 0, 0},
		{tree(5, 6), tree(3, 4), 3, 3},
	} {
		want := []record.Row{
			{Path: "mcpd/x", Type: "worker", Before: "running", After: "running", Restarts: c.restarts,
				Incarnations: c.incarnations},
		}
		if got := rows(c.before, c.after); !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// The hits of a fault count for the rows that the fault can have hit, and not for rows at which
// other faults of the experiment are aimed.
func TestHitsAreThoseOfTheirRows(t *testing.T) {
	strike := func(s experiment.Strike, hits int) struck {
		return struck{plan: s, Strike: record.Strike{Hits: hits, Fatal: true}}
	}
	done := []struck{
		strike(experiment.Strike{Tenant: "acme", Row: "mcpd/tenants/acme/catalog"}, 1),
		strike(experiment.Strike{Tenant: "acme", Server: "demo"}, 2),
		strike(experiment.Strike{Tenant: "globex"}, 4), // all servers of a tenant
		strike(experiment.Strike{}, 8),                 // target unknown
	}
	for pattern, want := range map[string]int{
		"mcpd/tenants/acme/catalog":                        1 + 8,
		"mcpd/tenants/acme/*":                              1 + 8,
		"mcpd/tenants/acme/notification_dispatcher":        8,
		"mcpd/tenants/acme/client_sup/*/*/connection":      2 + 8,
		"mcpd/tenants/acme/client_sup/other/*/connection":  8,
		"mcpd/tenants/acme/**":                             1 + 2 + 8,
		"mcpd/tenants/globex/client_sup/demo/*/connection": 4 + 8,
		"mcpd/tenants/*/client_sup/**":                     2 + 4 + 8,
		"mcpd/core/storage":                                8,
	} {
		if got := hits(done, pattern); got != want {
			t.Errorf("%s: %d hits, want %d", pattern, got, want)
		}
	}
}
