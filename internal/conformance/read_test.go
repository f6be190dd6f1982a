package conformance

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const when = "-2026-11-20T09-57-43-733Z"

func result(scenario, checks string) (string, *fstest.MapFile) {
	return "server-" + scenario + when + "/checks.json", &fstest.MapFile{Data: []byte(checks)}
}

func results(pairs ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		name, file := result(pairs[i], pairs[i+1])
		files[name] = file
	}
	return files
}

const (
	success = `{"id":"a","status":"SUCCESS"}`
	warning = `{"id":"priming","status":"WARNING","errorMessage":"no priming event"}`
	failure = `{"id":"b","status":"FAILURE","errorMessage":"no such tool"}`
	skipped = `{"id":"c","status":"SKIPPED"}`
	info    = `{"id":"d","status":"INFO"}`
)

// A scenario passes when something was checked and nothing was wrong with it.
func TestWhatCountsAsPassed(t *testing.T) {
	tests := []struct {
		name, checks string
		want         bool
	}{
		{"success", `[` + success + `,` + info + `]`, true},
		{"success and a check that does not apply", `[` + success + `,` + skipped + `]`, true},
		{"warning", `[` + success + `,` + warning + `]`, false},
		{"failure", `[` + success + `,` + failure + `]`, false},
		{"nothing checked", `[]`, false},
		{"nothing but news", `[` + info + `]`, false},
	}
	for _, test := range tests {
		outcomes, err := read(results("ping", test.checks))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(outcomes, func(o outcome) bool { return o.name == "ping" })
		if got := outcomes[i].passed(); got != test.want {
			t.Errorf("%s: passed = %t, want %t", test.name, got, test.want)
		}
	}
}

// A scenario that did not run shows as missing and does not pass.
func TestTableShowsEveryScenario(t *testing.T) {
	outcomes, err := read(results("ping", `[`+success+`]`, "server-sse-polling", `[`+success+`,`+warning+`]`))
	if err != nil {
		t.Fatal(err)
	}
	got := table(outcomes)
	for _, want := range []string{
		"ping                             scored     passed   1 passed\n",
		"server-sse-polling               not scored FAILED   1 passed\n    warning priming: no priming event\n",
		"tools-list                       scored     MISSING  0 passed\n",
		"\n1 of 33 scenarios passed\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestResultsThatMakeNoSenseAreErrors(t *testing.T) {
	tests := []struct{ name, scenario, checks, want string }{
		{"unknown scenario", "tasks-lifecycle", `[]`, "belongs to no scenario"},
		{"not json", "ping", `{`, "unexpected end"},
	}
	for _, test := range tests {
		if _, err := read(results(test.scenario, test.checks)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error = %v, want %q", test.name, err, test.want)
		}
	}
	twice := results("ping", `[]`)
	twice["server-ping-2026-11-20T09-57-44-000Z/checks.json"] = &fstest.MapFile{Data: []byte(`[]`)}
	if _, err := read(twice); err == nil || !strings.Contains(err.Error(), "ran twice") {
		t.Errorf("twice: error = %v", err)
	}
}
