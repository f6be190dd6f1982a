package catalog_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/telemetry"
)

// Odd items are kept unchanged, also across a restart of the host. Clients of the aggregate's list
// get them repaired, or not at all. Each oddity is logged once, and shown in the server's record.
func TestOddItemsAreToldOnce(t *testing.T) {
	odd := []jsontext.Value{
		jsontext.Value(`{"name":"read","inputSchema":{"type":"object"}}`), jsontext.Value(`"write"`),
		jsontext.Value(`{"name":"stat","title":null}`),
	}
	const told = `tools: 1 left out (tool is not an object), 1 repaired (stat)`
	check := func(r *rig, events int) {
		t.Helper()
		v := <-r.looks(r.caller("ci", ""))
		page, err := v.Listed(merge.Tools, protocol.LatestLegacy, "ci", "")
		want := `{"tools":[{"name":"files__read","inputSchema":{"type":"object"}},{"name":"files__stat","inputSchema":{"type":"object"}}`
		if err != nil || len(page) < len(want) || string(page[:len(want)]) != want {
			t.Errorf("listed %s, %v; want %s", page, err, want)
		}
		if got := r.record("files").Odd; got != told {
			t.Errorf("the server says %q, want %q", got, told)
		}
		if got := testrig.Of[telemetry.ItemsOdd](&r.Events); len(got) != events {
			t.Errorf("an operator was told %+v", got)
		}
	}
	var stored map[string]jsontext.Value
	run(t, func(r *rig) {
		r.ready()
		r.reports(files, report{state: client.Ready, items: odd})
		check(r, 4)
		r.reports(files, report{
			state: client.Ready,
			items: append(odd, jsontext.Value(`{"name":"new","inputSchema":{"type":"object"}}`)),
		})
		r.WaitIdle()
		r.reports(files, report{state: client.Ready, items: odd})
		check(r, 4)
		stored, _ = r.written()
	})
	r := &rig{stored: stored}
	r.run(t, func(r *rig) { check(r, 3) })
}
