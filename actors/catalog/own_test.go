package catalog_test

import (
	"strings"
	"testing"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
)

// A tool that a call has added to a session's own instance of a server is listed and announced to
// that session only, on the transparent and on the aggregate endpoint. It disappears with the
// instance.
func TestSessionSeesWhatItsOwnInstanceLists(t *testing.T) {
	r := &rig{configure: func(t *tenant.Tenant) { t.Servers[0].Share = tenant.BySession }}
	r.run(t, func(r *rig) {
		own := tenant.NewKey(tenant.BySession, "ci", "s-ci", 0)
		path := "files/" + own.String()
		answer := r.looks(r.caller("ci", ""))
		r.reports("files/principal=ci", report{state: client.Ready, tools: []string{"read"}})
		r.reports(search, report{state: client.Ready, tools: []string{"find"}})
		<-answer
		r.mustConnect("files")
		r.reports(path, report{state: client.Ready, tools: []string{"read"}})
		sees := func(session, endpoint string) bool {
			t.Helper()
			caller := r.caller("ci", endpoint)
			caller.Session = session
			v := <-r.looks(caller)
			if v.err != nil {
				t.Fatal(v.err)
			}
			return strings.Contains(listed(v, merge.Tools), "added")
		}
		r.dispatcher.Forget()
		r.reports(path, report{
			state: client.Ready, tools: []string{"read", "added"}, told: []merge.Kind{merge.Tools},
		})
		for _, endpoint := range []string{"files", ""} {
			if !sees("s-ci", endpoint) || sees("s-other", endpoint) {
				t.Errorf("at %q: seen by its session %v, by another %v", endpoint, sees("s-ci", endpoint),
					sees("s-other", endpoint))
			}
		}
		if got := testrig.Of[*notification.Dispatch](&r.dispatcher.Log); len(got) != 1 ||
			got[0].Key != own {
			t.Errorf("announced %+v", got)
		}
		r.reports("files/principal=ci", report{state: client.Ready, tools: []string{"read", "added"}})
		if !sees("s-other", "") || !sees("s-ci", "") {
			t.Error("a tool that all instances have is not listed")
		}
		r.reports("files/principal=ci", report{state: client.Ready, tools: []string{"read"}})
		if sees("s-other", "") || !sees("s-ci", "") {
			t.Error("a tool that is the session's own again is not")
		}
		r.Send("catalog", &client.Unused{
			Server: "files", Key: own, From: r.Ref("client_sup/" + path + "/connection"),
		})
		if sees("s-ci", "") {
			t.Error("the tool of an instance that has ended is listed")
		}
	})
}
