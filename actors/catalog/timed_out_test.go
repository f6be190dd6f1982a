package catalog_test

import (
	"testing"
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
)

// waited is how long a caller waits for its list, and how many servers are missing in it.
func (r *rig) waited(c catalog.Caller) (time.Duration, int) {
	r.T.Helper()
	start := time.Now()
	v := <-r.looks(c)
	if v.err != nil {
		r.T.Fatal(v.err)
	}
	return v.at.Sub(start), len(v.Missing)
}

// elsewhere gives search another working directory.
func elsewhere(servers []tenant.Server) []tenant.Server {
	servers[0].Cwd = tenant.NewSecret("elsewhere")
	return servers
}

// stuck is a host whose only server is "search", for which one principal has timed out.
func stuck(t *testing.T, test func(r *rig)) {
	t.Helper()
	r := &rig{configure: func(tn *tenant.Tenant) { tn.Servers = tn.Servers[1:] }}
	r.run(t, func(r *rig) {
		if took, missing := r.waited(r.caller("ci", "")); took != 10*time.Second || missing != 1 {
			t.Fatalf("waited %v, %d are missing", took, missing)
		}
		test(r)
	})
}

// A server for which one principal has timed out delays no other, whatever their clients declare
// and whichever era they are of.
func TestServerThatNeverAnswersDelaysOnePrincipal(t *testing.T) {
	stuck(t, func(r *rig) {
		able, modern := r.caller("ci", ""), r.caller("cd", "")
		able.Capabilities, _ = protocol.ParseClientCapabilities([]byte(`{"roots":{}}`))
		modern.Modern = true
		for name, c := range map[string]catalog.Caller{"another principal": r.caller("cd", ""),
			"another client": able, "another era": modern} {
			if took, missing := r.waited(c); took != 0 || missing == 0 {
				t.Errorf("%s waited %v, %d are missing", name, took, missing)
			}
		}
	})
}

// That ends when the server is ready for some caller, or its declaration changes. Then callers wait
// for it again.
func TestServerIsWaitedForAgainWhenItWasReady(t *testing.T) {
	for name, better := range map[string]func(r *rig){
		"ready": func(r *rig) {
			r.reports(search, report{state: client.Ready, tools: []string{"find"}})
		},
		"declared": func(r *rig) { r.reload(elsewhere) },
	} {
		stuck(t, func(r *rig) {
			better(r)
			if took, missing := r.waited(r.caller("cd", "")); took != 10*time.Second || missing != 1 {
				t.Errorf("%s: waited %v, %d are missing", name, took, missing)
			}
		})
	}
}

// A short wait, like that of initialize, does not count as a time-out. The next list waits for the
// rest of the time.
func TestWaitsForAServerAddUp(t *testing.T) {
	run(t, func(r *rig) {
		start := time.Now()
		answer := r.looksFor(r.caller("ci", ""), 2*time.Second)
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		if v := <-answer; v.at.Sub(start) != 2*time.Second {
			t.Errorf("answered after %v", v.at.Sub(start))
		}
		if v := <-r.looks(r.caller("ci", "")); v.at.Sub(start) != 10*time.Second {
			t.Errorf("the list came after %v", v.at.Sub(start))
		}
	})
}
