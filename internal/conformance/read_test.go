package conformance

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const folderTime = "-2026-11-20T09-57-43-733Z"

func results(prefix string, pairs ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		files[prefix+pairs[i]+folderTime+"/checks.json"] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return files
}

func mustRead(t *testing.T, s set, files fstest.MapFS) []outcome {
	t.Helper()
	outcomes, err := s.read(files)
	if err != nil {
		t.Fatal(err)
	}
	return outcomes
}

const (
	success = `{"id":"a","status":"SUCCESS"}`
	warning = `{"id":"priming","status":"WARNING","errorMessage":"no priming event"}`
	failure = `{"id":"b","status":"FAILURE","errorMessage":"no such tool"}`
	skipped = `{"id":"c","status":"SKIPPED"}`
	info    = `{"id":"d","status":"INFO"}`
)

// A scenario passes if something was checked and nothing failed or caused a warning.
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
		outcomes := mustRead(t, legacyServer, results("server-", "ping", test.checks))
		i := slices.IndexFunc(outcomes, func(o outcome) bool { return o.name == "ping" })
		if got := outcomes[i].passed(); got != test.want {
			t.Errorf("%s: passed = %t, want %t", test.name, got, test.want)
		}
	}
	if o := mustRead(t, modernServer,
		results("server-", neverChecked[0],
			`[`+skipped+`]`)); !(&run{outcomes: o}).outcomeOf(neverChecked[0]).passed() {
		t.Error("what the suite never checks did not pass")
	}
}

// A client whose output is not exactly clientDone has failed, even if all its checks succeeded.
func TestClientMustEndWell(t *testing.T) {
	for said, want := range map[string]bool{clientDone: true, "": false,
		clientDone + "and more": false} {
		files := results("", "tools_call", `[`+success+`]`, "auth/basic-cimd", `[`+failure+`]`)
		files["tools_call"+folderTime+"/stdout.txt"] = &fstest.MapFile{Data: []byte(said)}
		r := run{set: modernClient, outcomes: mustRead(t, modernClient, files)}
		if got := r.outcomeOf("tools_call").passed(); got != want {
			t.Errorf("client said %q: passed = %t, want %t", said, got, want)
		}
	}
}

func TestResultsThatMakeNoSenseAreErrors(t *testing.T) {
	tests := []struct{ name, scenario, checks, want string }{
		{"unknown scenario", "tasks-lifecycle", `[]`, "belongs to no scenario"},
		{"not json", "ping", `{`, "unexpected end"},
	}
	for _, test := range tests {
		if _, err := legacyServer.read(results("server-", test.scenario, test.checks)); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error = %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := legacyServer.read(results("", "ping", `[]`)); err == nil {
		t.Error("a client's result was taken for a server's")
	}
	twice := results("server-", "ping", `[]`)
	twice["server-ping-2026-11-20T09-57-44-000Z/checks.json"] = &fstest.MapFile{Data: []byte(`[]`)}
	if _, err := legacyServer.read(twice); err == nil || !strings.Contains(err.Error(), "ran twice") {
		t.Errorf("twice: error = %v", err)
	}
}
