package conformance

import (
	"cmp"
	"strings"
	"testing"
)

// A verdict depends on the outcome of the same server without mcpd and on the exceptions.
func TestVerdict(t *testing.T) {
	before := exceptions
	exceptions = []exception{
		{clause{}, legacyClients, []string{"SDK modern"}, map[string][]string{"ping": {"priming"}}},
	}
	t.Cleanup(func() { exceptions = before })
	direct := func(checks string) *run {
		return &run{
			set: legacyServer, comparisonOnly: true,
			outcomes: mustRead(t, legacyServer, results("server-", "ping", checks)),
		}
	}
	good, bad := direct(`[`+success+`]`), direct(`[`+success+`,`+failure+`]`)
	tests := []struct {
		name, checks string
		run          run
		want         verdict
	}{
		{"passes", `[` + success + `]`, run{}, passed},
		{"fails", `[` + failure + `]`, run{}, failed},
		{"fails here alone", `[` + failure + `]`, run{direct: good}, failed},
		{"fails without mcpd", `[` + failure + `]`, run{direct: bad}, notThere},
		{"nothing checked", `[` + info + `]`, run{direct: good}, failed},
		{"to be compared with", `[` + failure + `]`, run{comparisonOnly: true}, notThere},
		{"is excepted", `[` + warning + `]`, run{direct: good, name: "SDK modern"}, excepted},
		{"fails in more than that", `[` + warning + `,` + failure + `]`,
			run{direct: good, name: "SDK modern"}, failed},
		{"is excepted and passes", `[` + success + `]`, run{direct: good, name: "SDK modern"}, stale},
		{"is excepted and fails without mcpd", `[` + warning + `]`,
			run{direct: bad, name: "SDK modern"}, stale},
		{"is excepted in another run", `[` + warning + `]`,
			run{direct: good, name: "SDK legacy"}, failed},
	}
	for _, test := range tests {
		r := test.run
		r.set, r.name, r.outcomes = legacyServer, cmp.Or(r.name, "elsewhere"), mustRead(t, legacyServer,
			results("server-", "ping", test.checks))
		if got, _ := r.verdict(r.outcomeOf("ping")); got != test.want {
			t.Errorf("%s: verdict = %s, want %s", test.name, got, test.want)
		}
	}
}

// A scenario that did not run counts as wrong and is shown as missing.
func TestPageShowsEveryScenario(t *testing.T) {
	one := &run{set: legacyServer, name: "one", outcomes: mustRead(t, legacyServer,
		results("server-", "ping", `[`+success+`]`, "server-sse-polling", `[`+success+`,`+warning+`]`))}
	two := &run{
		set: legacyServer, name: "two",
		outcomes: mustRead(t, legacyServer, results("server-", "tools-list", `[`+success+`]`)),
	}
	text := page(t, [][]*run{{one, two}})
	for _, want := range []string{
		"\n| scenario | one | two |\n", "\n| ping | ok | MISSING |\n",
		"\n| server-sse-polling (not scored) | FAILED | MISSING |\n",
		"\n| tools-list | MISSING | ok |\n", "\n| **passed** | 1 | 1 |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	notes := one.notes()
	if len(notes) != 32 || !strings.HasSuffix(notes[31],
		"server-sse-polling FAILED\n    warning priming: no priming event") {
		t.Errorf("%d scenarios are wrong, want 32: %q", len(notes), notes)
	}
}
