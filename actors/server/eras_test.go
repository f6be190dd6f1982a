package server_test

import (
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// When a server changes its era, its clients get lists that their revision allows: before, during
// and after the change. 2025-11-25 allows only an outputSchema for objects, in which others are
// wrapped. 2026-07-28 does not define execution.
func TestListsOfAServerThatChangesItsEra(t *testing.T) {
	const bare = `"outputSchema":{"type":"array"}`
	legacy := func(r *rig) {
		r.script["files"] = files()
		r.script["files"]["tools/list"] = result(`{"tools":[{"name":"read","inputSchema":{"type":"object"},` +
			`"outputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}}]}`)
	}
	modern := func(r *rig) {
		modern(r)
		r.script["files"]["tools/list"] = result(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"read",` +
			`"inputSchema":{"type":"object"},` + bare + `}]}`)
	}
	v2025, v2026 := mcptest.LoadSchemas(t, "2025-11-25"), mcptest.LoadSchemas(t, "2026-07-28")
	for name, eras := range map[string][2]func(r *rig){"legacy, then modern": {legacy, modern},
		"modern, then legacy": {modern, legacy}} {
		for _, endpoint := range []string{"", "files"} {
			t.Run(name+" "+endpoint, func(t *testing.T) {
				run(t, eras[0], func(r *rig) {
					old, young := r.open("ci", endpoint), r.caller(`{}`)
					young.server = endpoint
					old.shake(`{}`)
					look := func(when string, array bool) {
						t.Helper()
						before, after := old.ask("tools/list", ""), young.ask("tools/list", "")
						time.Sleep(time.Minute)
						first, second := before.Outcome().Result, after.Outcome().Result
						if before.Word() != "result" || after.Word() != "result" {
							t.Fatalf("%s: %v %v", when, before.All(), after.All())
						}
						if err := v2025.Check(t, "ListToolsResult", first); err != nil ||
							strings.Contains(string(first), bare) {
							t.Errorf("%s: a client of 2025-11-25 gets %s, %v", when, first, err)
						}
						if err := v2026.Check(t, "ListToolsResult", second); err != nil ||
							strings.Contains(string(second), `"execution"`) ||
							strings.Contains(string(second), bare) != array {
							t.Errorf("%s: a client of 2026-07-28 gets %s, %v", when, second, err)
						}
					}
					first := name == "modern, then legacy"
					look("before", first)
					eras[1](r)
					for len(r.peers["files"]) > 0 {
						(<-r.peers["files"]).Close()
					}
					if endpoint == "" {
						if out := old.ask("tools/list", ""); strings.Contains(string(out.Outcome().Result), bare) {
							t.Errorf("meanwhile: %v", out.All())
						}
					}
					look("after", !first)
				})
			})
		}
	}
}
