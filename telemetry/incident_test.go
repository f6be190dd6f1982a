package telemetry

import (
	"fmt"
	"testing"
	"time"
)

func TestIncidents(t *testing.T) {
	const row, pool, other = "mcpd/tenants/a/upstream/files", "mcpd/tenants/a",
		"mcpd/tenants/b/upstream/files"
	start := time.Unix(1_000_000, 0)
	in := make(incidents)
	at := func(path string, opens bool, after time.Duration) string {
		return in.of(path, opens, start.Add(after))
	}

	if got := at(row, false, 0); got != "" {
		t.Errorf("an event of a row without trouble has incident %q", got)
	}
	first := at(row, true, time.Second)
	if len(first) != 8 {
		t.Fatalf("incident %q, want eight characters", first)
	}
	tests := []struct {
		name  string
		path  string
		opens bool
		after time.Duration
		// want is relative to the first incident; "" for none, "new" for another one.
		want string
	}{
		{"same row goes on", row, false, 2 * time.Second, first},
		{"same row crashes again", row, true, 3 * time.Second, first},
		{"its supervisor gives up", pool, true, 4 * time.Second, first},
		{"another tenant's row", other, true, 5 * time.Second, "new"},
		{"no path", "", true, 6 * time.Second, ""},
		{"long after, an ordinary event", row, false, 5 * time.Minute, ""},
		{"long after, a crash", row, true, 6 * time.Minute, "new"},
	}
	for _, test := range tests {
		got := at(test.path, test.opens, test.after)
		if ok := got == test.want || test.want == "new" && got != "" && got != first; !ok {
			t.Errorf("%s: incident %q, want %q (the first is %q)", test.name, got, test.want, first)
		}
	}
}

func TestIncidentsAreBounded(t *testing.T) {
	in := make(incidents)
	start := time.Unix(1_000_000, 0)
	for i := range 3 * maxIncidents {
		in.of(fmt.Sprintf("mcpd/%d", i), true, start.Add(time.Duration(i)*time.Millisecond))
	}
	if len(in) > maxIncidents {
		t.Errorf("%d incidents known, want at most %d", len(in), maxIncidents)
	}
	if _, known := in[fmt.Sprintf("mcpd/%d", 3*maxIncidents-1)]; !known {
		t.Error("the latest incident was forgotten")
	}
}
