package catalog_test

import (
	"testing"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
)

// A catalogue that crashes on its carried state starts without it. Waiting callers are answered,
// and it learns the lists again.
func TestCatalogueStartsWithoutWhatItCannotLiveWith(t *testing.T) {
	run(t, func(r *rig) {
		waiting := r.looks(r.caller("ci", ""))
		r.reports(files, report{state: client.Ready, tools: []string{"read"}})
		r.DropsState("catalog", "*client.Unused", func() {
			r.Send("catalog", &client.Unused{Server: "files", Key: tenant.Key{Share: tenant.ByTenant}})
		})
		if v := <-waiting; v.err == nil {
			t.Errorf("who waited was shown %+v", v.View)
		}
		if v := <-r.looksFor(r.caller("ci", ""), 0); v.err != nil || len(v.Servers) != 0 {
			t.Errorf("at first: %+v, %v", v.View, v.err)
		}
		for _, server := range []string{"files", "search"} {
			if _, err := r.connects(r.caller("ci", ""), server); err != nil {
				t.Errorf("%s: %v", server, err)
			}
		}
		r.ready()
	})
}
