package version_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/version"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// S4-99, S4-120: earlier negotiations are still counted after a crash, and sessions that negotiate
// meanwhile wait. Only the session whose message caused the crash is refused, at once.
func TestRegistryRemembersOverACrash(t *testing.T) {
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		return []otp.Child{{ID: "registry", Start: otp.Worker(func() otp.Behaviour {
			return version.New(s.Events.Emit)
		})}}
	}, func(s *testrig.Rig) {
		const sessions = 20
		registry := s.Ref("registry")
		negotiate := func(ctx context.Context) error {
			a, err := otp.Do[version.NegotiateRequest, protocol.Agreement](ctx, registry,
				version.NegotiateRequest{Requested: "2025-06-18", Tenant: "acme"})
			if err == nil && a.Version != protocol.V20250618 {
				t.Errorf("agreed on %v", a.Version)
			}
			return err
		}
		if err := negotiate(s.T.Context()); err != nil {
			s.T.Fatal(err)
		}
		s.Break("registry", "")
		var refused atomic.Int32
		var all sync.WaitGroup
		for range sessions {
			all.Go(func() {
				if negotiate(s.T.Context()) != nil {
					refused.Add(1)
				}
			})
		}
		all.Wait()
		s.Struck()
		if got := refused.Load(); got != 1 {
			t.Errorf("%d refused, want the one whose message crashed it", got)
		}
		counts, err := testrig.Ask[version.NegotiatedRequest, map[string]uint64](s, "registry",
			version.NegotiatedRequest{})
		if err != nil || counts["2025-06-18"] != sessions {
			t.Errorf("counted %v, %v, want %d", counts, err, sessions)
		}
	})
}
