package version_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"mcpd/actors/version"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

func start(t *testing.T) (otp.Ref, func() []telemetry.Event) {
	t.Helper()
	var events []telemetry.Event // written by the actor, read after its reply
	system := otp.NewSystem(otp.Options{})
	tree, err := system.Start(t.Context(), "top", otp.Spec{Children: []otp.Child{
		{ID: "registry", Start: otp.Worker(func() otp.Behaviour {
			return version.New(func(e telemetry.Event) { events = append(events, e) })
		})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = tree.Shutdown(context.Background())
		system.Close()
	})
	ref, _ := system.Whereis("top/registry")
	return ref, func() []telemetry.Event { return events }
}

func do[Req, Resp any](t *testing.T, ref otp.Ref, req Req) (Resp, error) {
	t.Helper()
	return otp.Do[Req, Resp](t.Context(), ref, req)
}

// S4-9, S4-11, S4-88, S4-138: one actor negotiates the revision of a session, counts it, and
// reports the request and the result.
func TestRegistryNegotiatesAndCounts(t *testing.T) {
	ref, events := start(t)
	for _, c := range []struct{ asked, want string }{
		{"2025-11-25", "2025-11-25"}, {"2024-11-05", "2024-11-05"}, {"2024-11-05", "2024-11-05"},
		{"2099-01-01", "2025-11-25"},
	} {
		got, err := do[version.NegotiateRequest, protocol.Agreement](t, ref, version.NegotiateRequest{
			Requested: c.asked, Tenant: "acme", Session: "s",
		})
		if err != nil || got.Version.String() != c.want {
			t.Errorf("%s: got %v, %v, want %s", c.asked, got.Version, err, c.want)
		}
	}
	strict := protocol.Negotiation{Mode: protocol.Strict}
	if _, err := do[version.NegotiateRequest, protocol.Agreement](t, ref,
		version.NegotiateRequest{Requested: "2099-01-01", Policy: strict}); !errors.Is(err,
		protocol.ConditionUnsupportedVersion) {
		t.Errorf("strict: got %v, want unsupported_version", err)
	}
	counts, err := do[version.NegotiatedRequest, map[string]uint64](t, ref,
		version.NegotiatedRequest{})
	if err != nil || counts["2025-11-25"] != 2 || counts["2024-11-05"] != 2 {
		t.Errorf("got %v, %v", counts, err)
	}
	told, lowered, news := 0, 0, 0
	for _, e := range events() {
		switch e := e.(type) {
		case telemetry.ProtocolNegotiation:
			told++
			if !e.Routine {
				news++
			}
			if e.Client == "2099-01-01" && e.Tenant == "acme" && e.Negotiated != "2025-11-25" {
				t.Errorf("told %+v", e)
			}
		case telemetry.VersionLowered:
			lowered++
		}
	}
	if news != 3 { // the first of each revision, and the refusal
		t.Errorf("%d negotiations are news, want 3", news)
	}
	if told != 5 || lowered != 1 {
		t.Errorf("told of %d negotiations and %d lowered versions, want 5 and 1", told, lowered)
	}
}

// S4-10, S4-12, S4-13: the supported revisions, and the features of a revision.
func TestRegistryAnswersQuestions(t *testing.T) {
	ref, _ := start(t)
	supported, err := do[protocol.Negotiation, []string](t, ref, protocol.Negotiation{
		Ceiling: protocol.V20251125,
	})
	if want := []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}; err != nil ||
		!slices.Equal(supported, want) {
		t.Errorf("got %v, %v, want %v", supported, err, want)
	}
	features, err := do[string, []string](t, ref, "2025-11-25")
	if err != nil || !slices.Contains(features, "url_elicitation") ||
		slices.Contains(features, "multi_round_trip") {
		t.Errorf("got %v, %v", features, err)
	}
	if none, err := do[string, []string](t, ref, "2025-01-01"); err != nil || len(none) != 0 {
		t.Errorf("a revision that there is not: got %v, %v", none, err)
	}
	for _, q := range []struct {
		version, feature string
		want             bool
	}{
		{"2025-11-25", "tasks", true}, {"2024-11-05", "tasks", false}, {"2024-11-05", "sampling", true},
		{"2025-11-25", "telepathy", false}, {"2099-01-01", "tools", false},
	} {
		if got, err := do[version.SupportsRequest, bool](t, ref,
			version.SupportsRequest{Version: q.version, Feature: q.feature}); err != nil || got != q.want {
			t.Errorf("%s has %s: got %t, %v, want %t", q.version, q.feature, got, err, q.want)
		}
	}
}
