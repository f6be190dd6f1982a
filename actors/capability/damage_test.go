package capability_test

import (
	"math/rand/v2"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/capability"
	"mcpd/actors/internal/stage"
	"mcpd/supervisor/otp"
)

// Whatever a crash has done to it, the next incarnation does not crash on what it takes over, and knows every capability of the protocol.
func TestDamagedRegistryAnswers(t *testing.T) {
	for seed := range uint64(100) {
		box := &stage.Box{}
		stage.Run(t, func(s *stage.Stage) []otp.Child {
			return []otp.Child{{ID: "registry", Start: s.Heirs.Worker(func() otp.Behaviour { return capability.New() })}, box.Child("box")}
		}, func(s *stage.Stage) {
			s.Heirs.Rand = rand.New(rand.NewPCG(seed, 0))
			subscribe := func() capability.State {
				state, err := stage.Ask[capability.SubscribeRequest, capability.State](s, "registry", capability.SubscribeRequest{Ref: s.Ref("box")})
				if err != nil {
					t.Errorf("seed %d: %v after %q", seed, err, s.Heirs.Done)
				}
				return state
			}
			subscribe()
			declared := &capability.Declared{Tenant: "acme", Server: "files", Capabilities: jsontext.Value(`{"tools":{}}`)}
			s.Send("registry", declared)
			s.Break("registry", "")
			s.Send("registry", declared)
			s.Heirs.Rand = nil
			subscribe()
			if info, err := stage.Ask[string, capability.Info](s, "registry", "tools"); err != nil || info.Name != "tools" || info.Description == "" {
				t.Errorf("seed %d: %+v, %v after %q", seed, info, err, s.Heirs.Done)
			}
			box.Forget()
			s.Send("registry", &capability.Declared{Tenant: "acme", Server: "search", Capabilities: jsontext.Value(`{}`)})
			if heard := stage.Of[capability.Changed](&box.Log); len(heard) != 1 || s.Ref("registry").Incarnation() != 2 || len(s.Heirs.Done) == 0 {
				t.Errorf("seed %d: heard %v in incarnation %d after %q", seed, heard, s.Ref("registry").Incarnation(), s.Heirs.Done)
			}
		})
	}
}
