package catalog_test

import (
	"strings"
	"testing"
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/supervisor/otp"
	"mcpd/transport/stdio"
)

// absent is the explanation that the aggregate's list of tools gives for the absence of a server.
func (r *rig) absent(principal, server string) string {
	r.T.Helper()
	v := <-r.looks(r.caller(principal, ""))
	if v.err != nil {
		r.T.Fatal(v.err)
	}
	page, err := v.Listed(merge.Tools, protocol.V20251125, principal, "")
	if err != nil {
		r.T.Fatal(err)
	}
	reason, _ := jsonedit.GetString(page, "_meta", merge.MetaIncomplete, server)
	return reason
}

// The aggregate's list explains for each server that has never listed why it is absent, in the same
// words as a refused call.
func TestListSaysWhyAServerIsAbsent(t *testing.T) {
	boom := &client.Ending{
		Cause: stdio.CauseHandshake, Text: "exited before handshake", Stderr: "s3cr3t", Incident: "0a1b",
	}
	refused := &client.Ending{Text: "127.0.0.1:1: connection refused", Incident: "2c3d"}
	tests := map[string]struct {
		happens func(r *rig)
		want    string
	}{
		"starting": {func(*rig) {}, "it has not listed anything yet"},
		"program missing": {func(r *rig) { r.missing(search) },
			"it is quarantined: " + errMissing.Error()},
		"permanent": {func(r *rig) {
			never := &client.Ending{Permanent: true, Text: "no such host", Incident: "4e5f"}
			r.reports(search, report{state: client.Quarantined, cause: never})
			r.Send("client_sup/"+search+"/connection", otp.ShutdownWith(never))
		}, "it is quarantined: no such host (incident 4e5f)"},
		"exits": {func(r *rig) { r.fails(search, boom) },
			"it has not listed anything yet: exited before handshake (incident 0a1b)"},
		"backing off": {func(r *rig) { r.reports(search, report{state: client.Backoff, cause: boom}) },
			"it has not listed anything yet: exited before handshake (incident 0a1b)"},
		"away": {func(r *rig) {
			r.reports(search, report{state: client.Backoff, cause: refused, away: true})
		},
			"it has not listed anything yet: 127.0.0.1:1: connection refused (incident 2c3d)"},
		"operator": {func(r *rig) {
			verb := catalog.OperateRequest{Server: "search", Verb: catalog.Quarantine}
			if _, err := testrig.Ask[catalog.OperateRequest, catalog.Record](r.Rig, "catalog",
				verb); err != nil {
				r.T.Fatal(err)
			}
		}, "an operator has quarantined it (incident ID)"},
		"mended": {func(r *rig) {
			r.fails(search, boom)
			r.absent("ci", "search")
			time.Sleep(time.Until(r.record("search").Retry))
			r.looks(r.caller("ci", ""))
			r.reports(search, report{state: client.Ready, tools: []string{"find"}})
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				first := r.looks(r.caller("ci", ""))
				r.reports(files, report{state: client.Ready, tools: []string{"read"}})
				test.happens(r)
				<-first
				got := r.absent("ci", "search")
				if why := r.record("search").Ending; why.Incident != "" {
					test.want = strings.Replace(test.want, "ID", why.Incident, 1)
				}
				if got != test.want {
					t.Errorf("told: %q, want %q", got, test.want)
				}
			})
		})
	}
}
