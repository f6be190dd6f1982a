package run

import (
	"fmt"
	"strings"
	"testing"
)

// Every holding that has grown is named with its label and its numbers before and after, and
// nothing else is named. A new label counts as growth, and a label that is gone does not.
func TestWhatIsLeftIsNamedByItsLabel(t *testing.T) {
	look := func(lines ...string) measurement {
		return measurement{
			values: map[string]float64{}, named: map[string]float64{},
			counts: counted(scrape(strings.Join(lines, "\n") + "\n")),
		}
	}
	before := look(
		`mcpd_actors{class="session",status="running"} 4`,
		`mcpd_actors{class="session",status="starting"} 1`,
		`mcpd_actor_timers{class="catalog"} 2`, `mcpd_kept_bytes{tenant="acme",kind="requests"} 0`,
	)
	for _, c := range []struct {
		name  string
		after measurement
		want  string
	}{
		{"as before", before, ""},
		{"the same in another status", look(`mcpd_actors{class="session",status="running"} 5`), ""},
		{"fewer", look(`mcpd_actors{class="session",status="running"} 3`), ""},
		{"a row more", look(`mcpd_actors{class="session",status="running"} 6`,
			`mcpd_actor_timers{class="catalog"} 2`), "rows of session 5 6"},
		{"a row of one kind in the place of another",
			look(`mcpd_actors{class="session",status="running"} 4`,
				`mcpd_actors{class="task",status="running"} 1`), "rows of task 0 1"},
		{"a timer more", look(`mcpd_actor_timers{class="catalog"} 3`), "timers of catalog 2 3"},
		{"a timer that ends by itself",
			look(`mcpd_actor_timers{class="catalog"} 2`, `mcpd_actor_timers{class="tenant_manager"} 1`), ""},
		{"bytes of a tenant", look(`mcpd_kept_bytes{tenant="acme",kind="requests"} 70`),
			"kept bytes of requests 0 70"},
		{"bytes that have an end of their own",
			look(`mcpd_kept_bytes{tenant="acme",kind="histories"} 70`), ""},
		{"bytes of a budget", look(`mcpd_reserved_bytes{budget="answers"} 70`),
			"reserved bytes of answers 0 70"},
		{"a monitor", look(`mcpd_actor_monitors{class="session_manager"} 1`),
			"monitors of session_manager 0 1"},
		{"a watcher", look(`mcpd_actor_watchers{class="connection"} 1`), "watchers of connection 0 1"},
		{"a parked session", look(`mcpd_kept_records{kind="parked_sessions"} 1`),
			"records of parked_sessions 0 1"},
		{"a listener that is away", look(`mcpd_kept_records{kind="away_listeners"} 1`),
			"records of away_listeners 0 1"},
		{"a known connection", look(`mcpd_kept_records{kind="ready_connections"} 1`),
			"records of ready_connections 0 1"},
		{"a message", look(`mcpd_actor_messages{class="catalog"} 1`), "messages of catalog 0 1"},
		{"a reply", look(`mcpd_actor_pending_replies{class="catalog"} 1`),
			"pending replies of catalog 0 1"},
	} {
		var more []string
		for _, h := range (&run{peaks: newPeaks()}).holdings(before, c.after) {
			if h.Exact && h.Surplus() > 0 {
				more = append(more, fmt.Sprint(h.Name, " ", h.Before, " ", h.After))
			}
		}
		if got := strings.Join(more, ", "); got != c.want {
			t.Errorf("%s: more of %q, want %q", c.name, got, c.want)
		}
		if within := (&run{}).within(c.after, before); within != (c.want == "") {
			t.Errorf("%s: within is %v", c.name, within)
		}
	}
}
