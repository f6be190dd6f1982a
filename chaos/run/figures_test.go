package run

import (
	"reflect"
	"testing"

	"mcpd/chaos/experiment"
	"mcpd/chaos/record"
)

// A server that a strike has ended counts once: from the strike to its loss, and from its loss
// until it is ready. A loss without a strike, a loss of another tenant's server, or a loss before
// any strike does not count.
func TestOutagesOfServersAreMeasured(t *testing.T) {
	at := func(from, at float64) struck {
		return struck{
			plan: experiment.Strike{Tenant: "acme", Server: "demo"}, at: at,
			Strike: record.Strike{From: from},
		}
	}
	event := func(at float64, name, tenant, down string) record.Event {
		return record.Event{
			At: at, Name: name, Tenant: tenant, Server: "demo", Fields: map[string]string{"down": down},
		}
	}
	events := []record.Event{
		event(0.5, "upstream_exited", "acme", ""),
		event(0.75, "upstream_ready", "acme", "250ms"),
		event(1.25, "upstream_exited", "globex", ""),
		event(1.5, "upstream_exited", "acme", ""),
		event(1.75, "upstream_exited", "acme", ""),
		event(2, "upstream_ready", "acme", "500ms"),
		event(2.5, "upstream_ready", "acme", "1s"),
		event(3.0625, "upstream_exited", "acme", ""), // between the beginning of the strike and its end
		event(3.25, "upstream_ready", "acme", "187.5ms"),
	}
	failed := at(2.25, 2.25)
	failed.Error = "it has no process"
	got := outages(events, []struck{at(3, 3.125), at(1, 1.25), failed})
	want := map[string][]float64{"detect_ms": {250, 0}, "down_ms": {500, 187.5}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The recovery of the target is unknown if the run was ended early.
func TestNoRecoveryOfARunThatWasEnded(t *testing.T) {
	out := record.Record{Aborted: "the host has not answered for 10s"}
	(&run{}).figures(&out, []struck{{Strike: record.Strike{Hits: 1, To: 3}}})
	for _, f := range out.Figures {
		if f.Name == "recovery_s" {
			t.Errorf("it has: %v", f.Samples)
		}
	}
}
