package catalog_test

import (
	"fmt"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/notification"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// kind is a caller whose client declares the capabilities and is of one era.
func (r *rig) kind(principal, capabilities string, modern bool) catalog.Caller {
	c := r.caller(principal, "")
	c.Session, c.Modern = fmt.Sprint("s-", principal, capabilities, modern), modern
	c.Capabilities, _ = protocol.ParseClientCapabilities(jsontext.Value(capabilities))
	return c
}

// at is the row of the connection that a caller is given.
func (r *rig) at(c catalog.Caller, server string) string {
	r.T.Helper()
	ref, err := r.connects(c, server)
	if err != nil {
		r.T.Fatal(err)
	}
	return path.Base(path.Dir(ref.Path()))
}

// max_instances bounds the processes of those who share a server, whatever they declare and
// whichever era they speak. At the bound a caller uses the connection that fits best, gets its
// notifications, and sees its lists. When there is room the caller gets a connection of its own.
func TestProcessesOfThoseWhoShareAreBounded(t *testing.T) {
	configure := func(tn *tenant.Tenant) { tn.Servers[1].Instances = 2 }
	(&rig{configure: configure}).run(t, func(r *rig) {
		asks, roots := r.kind("ci", `{"elicitation":{}}`, false), r.kind("ci", `{"roots":{}}`, false)
		for _, tt := range []struct {
			who  catalog.Caller
			want string
		}{
			{asks, "principal=ci,caps=elicitation-form"},
			{roots, "principal=ci,caps=roots"},
			{r.kind("ci", `{"elicitation":{}}`, true), "principal=ci,caps=elicitation-form"},
			{r.kind("ci", `{"roots":{},"sampling":{}}`, false), "principal=ci,caps=roots"},
			{r.kind("bob", `{"sampling":{}}`, false), "principal=bob,caps=sampling"}, // shares with others
		} {
			if got := r.at(tt.who, "search"); got != tt.want {
				t.Errorf("caller %s uses %s, want %s", tt.who.Session, got, tt.want)
			}
		}
		key := tenant.Key{Share: tenant.ByPrincipal, Principal: "ci", Fingerprint: protocol.CanElicitForm}
		if _, err := testrig.Ask[client.StartInstanceRequest, client.Instance](r.Rig, "catalog",
			client.StartInstanceRequest{Server: "search", Key: key, Most: 2}); err == nil {
			t.Error("there is another instance, beyond the bound")
		}
		if got := r.record("search"); got.Open != 3 {
			t.Errorf("%d processes, want 2 of ci and 1 of bob", got.Open)
		}
		modern := r.kind("ci", `{"elicitation":{}}`, true)
		heard := slices.ContainsFunc(testrig.Of[*notification.Register](&r.dispatcher.Log),
			func(m *notification.Register) bool {
				return m.Key == key && m.Server == "search" && m.Handler == notification.Mailbox{
					Ref: modern.Ref,
				}
			})
		if !heard {
			t.Error("who uses the connection of another kind does not hear of it")
		}
		answer := r.looks(modern)
		r.reports("search/principal=ci,caps=elicitation-form", report{
			state: client.Ready, tools: []string{"find"},
		})
		r.reports("files/tenant,caps=elicitation-form,modern", report{
			state: client.Ready, tools: []string{"read"},
		})
		time.Sleep(11 * time.Second)
		if v := <-answer; v.err != nil || len(v.List(0).Items()) == 0 {
			t.Errorf("it sees %+v, %v", v.View, v.err)
		}

		end := r.Ref("client_sup/search/principal=ci,caps=roots/connection")
		r.Send("catalog", &client.Unused{
			Server: "search",
			Key:    tenant.Key{Share: tenant.ByPrincipal, Principal: "ci", Fingerprint: protocol.CanRoots},
			From:   end,
		})
		if got := r.at(modern, "search"); got != "principal=ci,caps=elicitation-form,modern" {
			t.Errorf("when there is room it uses %s", got)
		}
	})
}

// A connection that was given up makes room for another. The subscriptions of its sessions continue
// over an existing connection.
func TestAbandonedStateGoesToTheNextConnection(t *testing.T) {
	configure := func(tn *tenant.Tenant) { tn.Servers[1].Instances = 2 }
	(&rig{configure: configure}).run(t, func(r *rig) {
		first, second, third := r.kind("ci", `{}`, false), r.kind("ci", `{"roots":{}}`,
			false), r.kind("ci", `{"sampling":{}}`, false)
		for _, c := range []catalog.Caller{first, second} {
			r.at(c, "search")
		}
		r.fails("search/principal=ci", errDisk)
		r.at(third, "search") // there is room
		abandoned := &client.AbandonedState{
			Server: "search", Key: tenant.Key{Share: tenant.ByPrincipal, Principal: "ci"},
			Sessions: map[string]otp.Ref{"s-ci": r.Ref("session")},
		}
		r.Send("catalog", abandoned)
		time.Sleep(time.Minute)
		r.WaitIdle()
		if got := r.record("search"); got.Open != 2 {
			t.Errorf("%d processes", got.Open)
		}
		if len(r.regained) != 1 || r.regained[0] != abandoned {
			t.Errorf("regained %v", r.regained)
		}
	})
}
