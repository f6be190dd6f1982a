package catalog_test

import (
	"testing"
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
)

// A session that looks at lists gets the connection of a server that wants to ask its client
// something. It does not get the connection before the server can answer, and a modern client never
// gets it.
func TestLookMeetsServerThatAsks(t *testing.T) {
	for _, early := range []bool{false, true} {
		run(t, func(r *rig) {
			r.ready()
			r.late = true
			r.reports(search, report{state: client.Ready, tools: []string{"find"}, early: early})
			r.reports(files, report{state: client.Ready, tools: []string{"read"}})
			alone := r.caller("ci", "")
			alone.Modern = true
			lists := []merge.Kind{merge.Tools}
			<-r.look(catalog.LookRequest{Caller: r.caller("ci", "")})
			<-r.look(catalog.LookRequest{Caller: alone, Lists: lists})
			if len(r.attaches) != 0 {
				t.Fatalf("attached %d", len(r.attaches))
			}
			<-r.look(catalog.LookRequest{Caller: r.caller("ci", ""), Lists: lists})
			<-r.look(catalog.LookRequest{Caller: r.caller("bob", ""), Lists: lists})
			if got, want := len(r.attaches), map[bool]int{true: 1}[early]; got != want {
				t.Errorf("early %t: attached %d, want %d", early, got, want)
			}
			for _, m := range r.attaches {
				m.Reply(struct{}{})
			}
		})
	}
}

// A session whose look waits for the server gets the connection too, as soon as the server is
// ready.
func TestLookThatWaitsMeetsServerThatAsks(t *testing.T) {
	run(t, func(r *rig) {
		r.late = true
		answer := r.look(catalog.LookRequest{
			Caller: r.caller("ci", ""), Wait: 10 * time.Second, Lists: []merge.Kind{merge.Tools},
		})
		r.reports(files, report{state: client.Ready})
		r.reports(search, report{state: client.Ready, early: true})
		if len(r.attaches) != 1 {
			t.Errorf("attached %d", len(r.attaches))
		}
		<-answer
		for _, m := range r.attaches {
			m.Reply(struct{}{})
		}
	})
}
