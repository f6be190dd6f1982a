package server_test

import (
	"strings"
	"testing"
)

// A tool of a server without tasks keeps its declared task support if that says that a call cannot
// become a task. A declaration that a call may become one is removed.
func TestToolsOfAServerWithoutTasks(t *testing.T) {
	change := func(r *rig) {
		r.script["files"] = files()
		r.script["files"]["tools/list"] = result(`{"tools":[` +
			`{"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}},` +
			`{"name":"b","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},` +
			`{"name":"c","inputSchema":{"type":"object"}}]}`)
	}
	for endpoint, prefix := range map[string]string{"": "files__", "files": ""} {
		t.Run(endpoint, func(t *testing.T) {
			run(t, change, func(r *rig) {
				u := r.open("ci", endpoint)
				u.shake(`{}`)
				want := `{"tools":[` +
					`{"name":"` + prefix + `a","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}},` +
					`{"name":"` + prefix + `b","inputSchema":{"type":"object"}},` +
					`{"name":"` + prefix + `c","inputSchema":{"type":"object"}}`
				if got := string(u.ask("tools/list", "").Outcome().Result); !strings.HasPrefix(got, want) {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			})
		})
	}
}
