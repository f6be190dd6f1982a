package version_test

import (
	"math/rand/v2"
	"testing"

	"mcpd/actors/internal/stage"
	"mcpd/actors/version"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// Whatever a crash has done to the counts, the next incarnation goes on with those that are of a revision.
func TestDamagedCountsAreOfRevisions(t *testing.T) {
	for seed := range uint64(50) {
		stage.Run(t, func(s *stage.Stage) []otp.Child {
			return []otp.Child{{ID: "registry", Start: s.Heirs.Worker(func() otp.Behaviour { return version.New(s.Events.Emit) })}}
		}, func(s *stage.Stage) {
			s.Heirs.Rand = rand.New(rand.NewPCG(seed, 0))
			negotiate := func() error {
				_, err := stage.Ask[version.NegotiateRequest, protocol.Agreement](s, "registry", version.NegotiateRequest{Requested: "2025-06-18"})
				return err
			}
			if err := negotiate(); err != nil {
				s.T.Fatal(err)
			}
			s.Break("registry", "")
			if negotiate() == nil || negotiate() != nil || s.Ref("registry").Incarnation() != 2 || len(s.Heirs.Done) == 0 {
				t.Errorf("seed %d: incarnation %d after %q", seed, s.Ref("registry").Incarnation(), s.Heirs.Done)
			}
			counts, err := stage.Ask[version.NegotiatedRequest, map[string]uint64](s, "registry", version.NegotiatedRequest{})
			if err != nil || len(counts) != 1 || counts["2025-06-18"] < 1 {
				t.Errorf("seed %d: %v, %v after %q", seed, counts, err, s.Heirs.Done)
			}
		})
	}
}
