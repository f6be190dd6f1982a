package capability_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/capability"
	"mcpd/actors/internal/testrig"
	"mcpd/supervisor/otp"
)

// S4-102: all state of the registry survives its crash: declarations, switches, experimental
// features and subscribers. Queries made meanwhile wait in its mailbox.
func TestRegistryRemembersOverACrash(t *testing.T) {
	box := &testrig.Box{}
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		return []otp.Child{{ID: "registry", Start: otp.Worker(func() otp.Behaviour {
			return capability.New()
		})}, box.Child("box")}
	}, func(s *testrig.Rig) {
		ask := func(label string, err error) {
			t.Helper()
			if err != nil {
				t.Errorf("%s: %v", label, err)
			}
		}
		_, err := testrig.Ask[capability.SubscribeRequest, capability.State](s, "registry",
			capability.SubscribeRequest{Ref: s.Ref("box")})
		ask("subscribe", err)
		_, err = testrig.Ask[capability.NotifyRequest, struct{}](s, "registry", capability.NotifyRequest{
			Name: "logging",
		})
		ask("notify", err)
		_, err = testrig.Ask[capability.Experimental, struct{}](s, "registry", capability.Experimental{
			Name: "x", Settings: jsontext.Value(`{}`),
		})
		ask("register", err)
		s.Send("registry", &capability.Declared{
			Tenant: "acme", Server: "files", Capabilities: jsontext.Value(`{"tools":{}}`),
		})
		box.Forget()

		s.Break("registry", "*otp.Call[string,mcpd/actors/capability.Info]")
		if _, err := testrig.Ask[string, capability.Info](s, "registry", "tools"); err == nil {
			t.Error("the query that crashed it succeeded")
		}
		s.Struck()
		if info, err := testrig.Ask[string, capability.Info](s, "registry", "logging"); err != nil ||
			info.Enabled {
			t.Errorf("logging: %+v, %v, want disabled as before", info, err)
		}
		if caps, err := testrig.Ask[capability.DiscoverRequest, jsontext.Value](s, "registry",
			capability.DiscoverRequest{Tenant: "acme", Server: "files"}); err != nil ||
			string(caps) != `{"tools":{}}` {
			t.Errorf("files: %s, %v", caps, err)
		}
		if list, err := testrig.Ask[capability.ExperimentsRequest, []capability.Experimental](s, "registry",
			capability.ExperimentsRequest{}); err != nil || len(list) != 1 {
			t.Errorf("experimental: %v, %v", list, err)
		}
		_, err = testrig.Ask[capability.NotifyRequest, struct{}](s, "registry", capability.NotifyRequest{
			Name: "logging", Enabled: true,
		})
		ask("notify again", err)
		if heard := testrig.Of[capability.Changed](&box.Log); len(heard) != 1 ||
			heard[0].Name != "logging" || !heard[0].Enabled {
			t.Errorf("the subscriber heard %v", heard)
		}

		// A subscriber that is gone is removed: its place is free.
		s.Send("box", otp.Normal)
		if _, err := testrig.Ask[capability.NotifyRequest, struct{}](s, "registry",
			capability.NotifyRequest{Name: "nothing"}); !errors.Is(err, capability.ErrNotFound) {
			t.Errorf("unknown capability: %v", err)
		}
	})
}
