package protocol_test

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// C1, C3, S0-17 to S0-21, S2-9, S4-11, S4-88.
func TestInitializeNegotiation(t *testing.T) {
	spec, strict := protocol.Negotiation{}, protocol.Negotiation{Mode: protocol.Strict}
	floor := protocol.Negotiation{Mode: protocol.Strict, Floor: protocol.V20250326}
	ceiling := protocol.Negotiation{Mode: protocol.Strict, Ceiling: protocol.V20250618}
	for _, tc := range []struct {
		name      string
		policy    protocol.Negotiation
		requested string
		want      protocol.Version // 0 for a refusal
		text      string
	}{
		{"spec, oldest", spec, "2024-11-05", protocol.V20241105, ""},
		{"spec, newest legacy", spec, "2025-11-25", protocol.V20251125, ""},
		{"spec, modern by initialize", spec, "2026-07-28", protocol.V20251125, ""},
		{"spec, future", spec, "2099-01-01", protocol.V20251125, ""},
		{"spec, between two", spec, "2025-01-01", protocol.V20251125, ""},
		{"spec, garbage", spec, "garbage", protocol.V20251125, ""},
		{"spec with ceiling", protocol.Negotiation{Ceiling: protocol.V20250618}, "2025-11-25",
			protocol.V20250618, ""},
		{"spec with floor", protocol.Negotiation{Floor: protocol.V20250326}, "2024-11-05",
			protocol.V20251125, ""},
		{"spec, nothing offered", protocol.Negotiation{Floor: protocol.V20260728}, "2025-11-25", 0,
			`protocol version "2025-11-25" is not supported`},
		{"strict, match", strict, "2025-03-26", protocol.V20250326, ""},
		{"strict, future", strict, "2099-01-01", 0, "Protocol version not yet supported"},
		{"strict, past", strict, "2024-06-18", 0, "Protocol version too old"},
		{"strict, between two", strict, "2025-05-05", 0,
			`protocol version "2025-05-05" is not supported`},
		{"strict, garbage", strict, "1.0", 0, `protocol version "1.0" is not a date YYYY-MM-DD`},
		{"strict below the floor", floor, "2024-11-05", 0, "Protocol version too old"},
		{"strict above the ceiling", ceiling, "2025-11-25", 0, "Protocol version not yet supported"},
		{"absent", spec, "", 0, "protocolVersion is missing"},
		{"absent, default not offered",
			protocol.Negotiation{Default: protocol.V20241105, Floor: protocol.V20250326}, "", 0,
			"protocolVersion is missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := tc.policy.Initialize(tc.requested)
			if a.Version != tc.want || (err == nil) != (tc.want != 0) ||
				err != nil && err.Error() != tc.text {
				t.Errorf("got %v, %v; want %v, %q", a.Version, err, tc.want, tc.text)
			}
		})
	}
}

// S4-84, S4-88: a refusal lists the offered revisions under both spellings.
func TestRefusalNamesWhatIsOffered(t *testing.T) {
	_, err := protocol.Negotiation{Mode: protocol.Strict,
		Floor: protocol.V20250618}.Initialize("2099-01-01")
	e := protocol.Translate(err, protocol.V20251125)
	if e.Code != -32602 {
		t.Errorf("got %v", e)
	}
	for name, want := range map[string]string{
		"reason":            `"unsupported_version"`,
		"requested":         `"2099-01-01"`,
		"requestedVersion":  `"2099-01-01"`,
		"supported":         `["2025-11-25","2025-06-18"]`,
		"supportedVersions": `["2025-11-25","2025-06-18"]`,
	} {
		expect(t, e.Data, want, name)
	}
	_, err = protocol.Negotiation{}.Modern("v999.0.0")
	if e := protocol.Translate(err, protocol.Latest); e.Code != -32022 ||
		protocol.HTTPStatus(err, protocol.Latest, false) != 400 {
		t.Errorf("got %v", e)
	}
}

// If the policy offers no revision of an era, the refusal lists the revisions of the other era, and
// none that would be refused again.
func TestRefusalNamesTheOtherEra(t *testing.T) {
	_, modern := protocol.Negotiation{Ceiling: protocol.V20250618,
		Floor: protocol.V20250326}.Modern("2026-07-28")
	_, legacy := protocol.Negotiation{Floor: protocol.V20260728}.Initialize("2025-11-25")
	for err, want := range map[error]string{modern: `["2025-06-18","2025-03-26"]`,
		legacy: `["2026-07-28"]`} {
		if got, _ := jsonedit.Get(protocol.Translate(err, protocol.Latest).Data,
			"supported"); string(got) != want {
			t.Errorf("%v: supported is %s, want %s", err, got, want)
		}
	}
}

// S4-88: a downgrade is visible, with the features that the client loses.
func TestDowngradeNamesLostFeatures(t *testing.T) {
	a, err := protocol.Negotiation{Ceiling: protocol.V20241105}.Initialize("2025-11-25")
	if err != nil {
		t.Fatal(err)
	}
	lost := a.Lost()
	if !a.Downgraded() || !slices.Contains(lost, protocol.Elicitation) ||
		slices.Contains(lost, protocol.Tools) || slices.Contains(lost, protocol.Discover) {
		t.Errorf("got %v", lost)
	}
	if a, _ := (protocol.Negotiation{}).Initialize("2099-12-31"); !slices.Contains(a.Lost(),
		protocol.Discover) {
		t.Errorf("got %v", a.Lost())
	}
	if a, _ := (protocol.Negotiation{}).Initialize("2025-11-25"); a.Downgraded() || a.Lost() != nil {
		t.Errorf("got %v", a)
	}
}

func TestClientSideNegotiation(t *testing.T) {
	n := protocol.Negotiation{}
	if v, err := n.Accept("2024-10-07"); v != protocol.V20241105 || err != nil {
		t.Errorf("a server of before the first revision: got %v, %v", v, err)
	}
	if v, err := n.Accept("2025-03-26"); v != protocol.V20250326 || err != nil {
		t.Errorf("got %v, %v", v, err)
	}
	for _, answered := range []string{"2026-07-28", "2099-01-01", "x"} {
		_, err := n.Accept(answered)
		condition(t, err, protocol.ConditionUnsupportedVersion)
	}
	if v, ok := n.Choose([]string{"2025-11-25", "2026-07-28",
		"2099-01-01"}); v != protocol.V20260728 || !ok {
		t.Errorf("got %v, %v", v, ok)
	}
	if v, ok := n.Choose([]string{"2025-11-25", "2024-11-05"}); ok {
		t.Errorf("got %v from legacy dates only", v)
	}
}

// S4-111: the guarantees of negotiation hold for every requested revision and every policy.
func TestNegotiationProperties(t *testing.T) {
	versions := rapid.SampledFrom(append(protocol.Versions(), 0))
	names := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom(protocol.Versions()).Draw(t, "version").String()
		}),
		rapid.StringMatching(`20[0-9]{2}-[0-9]{2}-[0-9]{2}`),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		n := protocol.Negotiation{
			Mode:    rapid.SampledFrom([]protocol.Mode{protocol.Spec, protocol.Strict}).Draw(t, "mode"),
			Floor:   versions.Draw(t, "floor"),
			Ceiling: versions.Draw(t, "ceiling"),
			Default: versions.Draw(t, "default"),
		}
		requested := names.Draw(t, "requested")
		offered := n.Offered(protocol.Legacy)
		a, err := n.Initialize(requested)
		again, errAgain := n.Initialize(requested)
		if a != again || (err == nil) != (errAgain == nil) {
			t.Fatalf("%q: two answers, %v and %v", requested, a, again)
		}
		asked, known := protocol.ParseVersion(requested)
		switch {
		case err == nil && !slices.Contains(offered, a.Version):
			t.Fatalf("%q: agreed on %v, which is not offered", requested, a.Version)
		case err == nil && a.Version.Era() != protocol.Legacy:
			t.Fatalf("%q: agreed on the modern %v by initialize", requested, a.Version)
		case err != nil && a.Version != 0:
			t.Fatalf("%q: refused, but left %v", requested, a.Version)
		case known && slices.Contains(offered, asked) && a.Version != asked:
			t.Fatalf("%q: is offered, but got %v", requested, a.Version)
		case n.Mode == protocol.Spec && requested != "" && len(offered) > 0 && err != nil:
			t.Fatalf("%q: the specification does not refuse: %v", requested, err)
		case n.Mode == protocol.Strict && requested != "" && err == nil &&
			a.Version.String() != requested:
			t.Fatalf("%q: strict, but got %v", requested, a.Version)
		case err != nil && !protocol.Mapped(err):
			t.Fatalf("%q: %v cannot be told to a peer", requested, err)
		}
		if err != nil && !protocol.Translate(err, protocol.V20251125).Data.IsValid() {
			t.Fatalf("%q: data is not JSON", requested)
		}
	})
}

func TestVersions(t *testing.T) {
	if got := protocol.GetSupportedVersions(); !slices.Equal(got,
		[]string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}) {
		t.Errorf("got %v", got) // S4-10
	}
	for i, v := range protocol.Versions() {
		if got, ok := protocol.ParseVersion(v.String()); got != v || !ok {
			t.Errorf("%v: got %v, %v", v, got, ok)
		}
		if (v.Era() == protocol.Modern) != (i == 4) {
			t.Errorf("%v: %v", v, v.Era())
		}
	}
	if _, ok := protocol.ParseVersion("2025-06-19"); ok {
		t.Error("a date between two revisions names one")
	}
	if none := protocol.Version(0); none.String() != "none" || none.Has(protocol.Tools) ||
		protocol.Version(9).String() != "version(9)" {
		t.Error("what is not a version looks like one")
	}
	for era, want := range map[protocol.Era]string{protocol.Legacy: "legacy",
		protocol.Modern: "modern", 0: "unknown"} {
		if got := era.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// S4-12 to S4-15: features by name.
func TestFeaturesByName(t *testing.T) {
	seen := make(map[string]bool)
	for _, v := range protocol.Versions() {
		for _, f := range v.Features() {
			got, ok := protocol.ParseFeature(f.String())
			if got != f || !ok {
				t.Errorf("%v: got %v, %v", f, got, ok)
			}
			seen[f.String()] = true
		}
	}
	for _, name := range []string{
		"ping", "completions", "elicitation", "tasks", "message_notifications", "pagination_cursors",
		"request_cancellation",
		"resources", "tools", "prompts", "logging", "sampling", "roots",
	} {
		if !seen[name] {
			t.Errorf("%s is not a feature", name)
		}
	}
	if _, ok := protocol.ParseFeature("telepathy"); ok ||
		protocol.Feature(255).String() != "unknown" || protocol.Latest.Has(255) {
		t.Error("what is not a feature looks like one")
	}
}

// S4-121: below 1 ms.
func BenchmarkVersionNegotiation(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (protocol.Negotiation{}).Initialize("2025-06-18"); err != nil {
			b.Fatal(err)
		}
	}
}

// S4-122: below 5 ms, from the params to the result.
func BenchmarkCapabilityNegotiation(b *testing.B) {
	server := serverCaps(b, fullServer)
	info := protocol.Implementation{Name: "mcpd", Version: "1"}
	b.ReportAllocs()
	for b.Loop() {
		h, err := protocol.Negotiation{}.Handshake(jsontext.Value(initializeParams), server)
		if err != nil {
			b.Fatal(err)
		}
		h.Result(info, "")
	}
}
