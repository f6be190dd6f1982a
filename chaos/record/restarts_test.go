package record

import "testing"

// A replaced row starts counting from zero, a removed row has no count, and a feed may miss events.
// The restarts of each row are the larger of both counts. A row with too few is not offset by
// another row with too many.
func TestRestartsAreCountedByRow(t *testing.T) {
	const a, b = "mcpd/tenants/acme/catalog", "mcpd/tenants/acme/client_sup/demo/1/connection"
	again := func(path string, at float64) Event { return Event{At: at, Name: Restarted, Path: path} }
	for _, c := range []struct {
		name   string
		rows   []Row
		events []Event
		want   int
	}{
		{"nothing", nil, nil, 0},
		{"a row counts them", []Row{{Path: a, Restarts: 3, Incarnations: 5}}, nil, 3},
		{"events tell of them", nil, []Event{again(a, 1), again(a, 2)}, 2},
		{"both do", []Row{{Path: a, Restarts: 2}}, []Event{again(a, 1), again(a, 2)}, 2},
		{"events were missed", []Row{{Path: a, Restarts: 3}}, []Event{again(a, 1)}, 3},
		{"a row counts from none", []Row{{Path: a, Restarts: 1}}, []Event{again(a, 1), again(a, 2)}, 2},
		{"events of one row were missed, and another row is gone", []Row{{Path: a, Restarts: 3}},
			[]Event{again(a, 1), again(b, 1), again(b, 2)}, 5},
		{"before the run", nil, []Event{again(a, -0.5), again(a, 0)}, 1},
		{"other events", nil, []Event{{At: 1, Name: "child_crashed", Path: a}}, 0},
	} {
		r := Record{Rows: c.rows, Events: c.events}
		if got := r.Restarts(); got != c.want {
			t.Errorf("%s: %d restarts, want %d", c.name, got, c.want)
		}
	}
}
