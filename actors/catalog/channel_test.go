package catalog_test

import (
	"strings"
	"testing"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
)

// If a URL without `share` turns out to speak HTTP+SSE, the sessions of a principal share the
// connection from which their lists come, because some such servers accept one connection at a
// time. Another principal has another connection.
func TestServerFoundToSpeakHTTPSSEIsSharedByPrincipal(t *testing.T) {
	for _, tt := range []struct {
		name  string
		share tenant.Share
		sse   bool
		want  string
	}{
		{"HTTP+SSE", tenant.ByDefault, true, "principal=ci"},
		{"Streamable HTTP", tenant.ByDefault, false, "session="},
		{"HTTP+SSE whose sharing is configured", tenant.BySession, true, "session="},
	} {
		t.Run(tt.name, func(t *testing.T) {
			configure := func(tn *tenant.Tenant) {
				tn.Servers[1].Command, tn.Servers[1].URL, tn.Servers[1].Share = tenant.Secret{},
					tenant.NewSecret("http://search"), tt.share
			}
			(&rig{configure: configure}).run(t, func(r *rig) {
				early := r.kind("ci", `{}`, false)
				early.Session = "s-early"
				before := r.at(early, "search")
				answer := r.looks(r.caller("ci", "search"))
				r.reports("search/principal=ci", report{state: client.Ready, sse: tt.sse})
				if v := <-answer; v.err != nil || !v.Reachable {
					t.Fatalf("view: %v", v.err)
				}
				if got := r.at(r.caller("ci", ""), "search"); !strings.HasPrefix(got, tt.want) {
					t.Errorf("a session uses %s, want %s", got, tt.want)
				}
				if got := r.at(r.caller("bob", ""), "search"); strings.HasSuffix(got, "=ci") {
					t.Errorf("another principal uses %s", got)
				}
				if got := r.at(early, "search"); got != before {
					t.Errorf("a session that had a connection of its own uses %s", got)
				}
			})
		})
	}
}
