package conformance

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

// Each run is judged by what stands behind it.
func TestVerdict(t *testing.T) {
	before := uncarriables
	uncarriables = []uncarriable{{"SDK modern", "ping", []string{"priming"}, "10.15", "there is none"}}
	t.Cleanup(func() { uncarriables = before })
	direct := func(checks string) *run {
		return &run{set: legacyServer, free: true, outcomes: mustRead(t, legacyServer, results("server-", "ping", checks))}
	}
	good, bad := direct(`[`+success+`]`), direct(`[`+success+`,`+failure+`]`)
	tests := []struct {
		name, checks string
		run          run
		want         verdict
	}{
		{"passes", `[` + success + `]`, run{}, passed},
		{"fails", `[` + failure + `]`, run{}, failed},
		{"fails here alone", `[` + failure + `]`, run{against: good}, failed},
		{"fails without mcpd", `[` + failure + `]`, run{against: bad}, notThere},
		{"nothing checked", `[` + info + `]`, run{against: good}, failed},
		{"to be compared with", `[` + failure + `]`, run{free: true}, notThere},
		{"cannot be carried", `[` + warning + `]`, run{against: good, name: "SDK modern"}, uncarried},
		{"fails in more than that", `[` + warning + `,` + failure + `]`, run{against: good, name: "SDK modern"}, failed},
		{"carried all the same", `[` + success + `]`, run{against: good, name: "SDK modern"}, stale},
		{"in the list, but of another run", `[` + warning + `]`, run{against: good, name: "SDK legacy"}, failed},
	}
	for _, test := range tests {
		r := test.run
		r.set, r.name, r.outcomes = legacyServer, cmp.Or(r.name, "elsewhere"), mustRead(t, legacyServer, results("server-", "ping", test.checks))
		if got, _ := r.verdict(r.of("ping")); got != test.want {
			t.Errorf("%s: verdict = %s, want %s", test.name, got, test.want)
		}
	}
}

// A scenario that did not run shows as missing and is wrong.
func TestTableShowsEveryScenario(t *testing.T) {
	one := &run{set: legacyServer, name: "one", outcomes: mustRead(t, legacyServer,
		results("server-", "ping", `[`+success+`]`, "server-sse-polling", `[`+success+`,`+warning+`]`))}
	two := &run{set: legacyServer, name: "two", outcomes: mustRead(t, legacyServer, results("server-", "tools-list", `[`+success+`]`))}
	text := table([]*run{one, two})
	got := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"server 2025-11-25 one two ", " ping ok MISSING ", " server-sse-polling (not scored) FAILED MISSING ", " tools-list MISSING ok ",
		" passed of 33 1 1 ", " one, server-sse-polling: warning priming: no priming event",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if got := len(one.wrongs()); got != 32 {
		t.Errorf("%d scenarios are wrong, want 32", got)
	}
}

// A row that nothing could use would hide that a scenario was renamed.
func TestUncarriablesAreOfTheSets(t *testing.T) {
	all := slices.Concat(legacyServer.scenarios, modernServer.scenarios, legacyClient.scenarios, modernClient.scenarios)
	for _, u := range uncarriables {
		if !slices.ContainsFunc(all, func(s scenario) bool { return s.name == u.scenario }) {
			t.Errorf("%s, %s: there is no such scenario", u.server, u.scenario)
		}
	}
}
