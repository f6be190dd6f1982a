package run

import (
	"reflect"
	"testing"

	"mcpd/chaos/faults"
	"mcpd/chaos/record"
)

// A row of a pool that has gone and come again counts from none. What it has restarted before is not taken away from that.
func TestRowsThatCameAgainCountAnew(t *testing.T) {
	tree := func(restarts, incarnation int) holds {
		return holds{tree: faults.Tree{{Path: "mcpd/x", Type: "worker", Status: "running", Restarts: restarts, Incarnation: incarnation}}}
	}
	for _, c := range []struct {
		before, after          holds
		restarts, incarnations int
	}{
		{tree(1, 2), tree(3, 4), 2, 2},
		{tree(1, 2), tree(1, 2), 0, 0},
		{tree(1, 2), tree(0, 1), 0, 0},
		{tree(5, 6), tree(3, 4), 3, 3},
	} {
		want := []record.Row{{Path: "mcpd/x", Type: "worker", Before: "running", After: "running", Restarts: c.restarts, Incarnations: c.incarnations}}
		if got := rows(c.before, c.after); !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
