package parity

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

func parse(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDifferencesAreFound(t *testing.T) {
	for _, tt := range []struct{ direct, through, want string }{
		{`{"a": [1, {"b": null}]}`, `{"a": [1, {"b": null}]}`, `[]`},
		{`{"a": 1}`, `{"a": 2}`, `[.a: 1 directly, 2 through mcpd]`},
		{`{"a": null}`, `{}`, `[.a: null directly, absent through mcpd]`},
		{`{}`, `{"a": {}}`, `[.a: absent directly, {} through mcpd]`},
		{`[1, 2]`, `[1]`, `[[1]: 2 directly, absent through mcpd]`},
		{`{"a": {"b": [{"c": "x"}]}}`, `{"a": {"b": [{"c": "y"}]}}`,
			`[.a.b[0].c: "x" directly, "y" through mcpd]`},
		{`{"a": {}}`, `{"a": []}`, `[.a: {} directly, [] through mcpd]`},
	} {
		found, compared := compare("", parse(t, tt.direct), parse(t, tt.through))
		if got := fmt.Sprint(found); got != tt.want || compared == 0 {
			t.Errorf("%s and %s: got %s, want %s", tt.direct, tt.through, got, tt.want)
		}
	}
}

// A missing item is one difference, and the order of items counts.
func TestListsAreComparedByName(t *testing.T) {
	list := func(names ...string) any {
		tools := []any{}
		for _, name := range names {
			tools = append(tools, map[string]any{"name": name})
		}
		return map[string]any{"result": map[string]any{"tools": tools}}
	}
	known := map[string]string{"s__a": "a", "s__b": "b", "s__c": "c"}
	for _, tt := range []struct {
		through any
		want    []string
	}{
		{list("s__a", "s__b", "s__c"), []string{".items.a.name", ".items.b.name", ".items.c.name"}},
		{list("s__b", "s__a", "s__c"), []string{
			".items.a.name", ".items.b.name", ".items.c.name", ".order[0]", ".order[1]",
		}},
		{list("s__a", "s__b"), []string{".items.a.name", ".items.b.name", ".items.c", ".order[2]"}},
		{list("s__a", "s__a", "s__b", "s__c"), []string{
			".items.a.name", ".items.a (again)", ".items.b.name", ".items.c.name", ".order[1]", ".order[2]",
			".order[3]",
		}},
	} {
		found, _ := compare("", byName(list("a", "b", "c"), 0, nil), byName(tt.through, 0, known))
		var got []string
		for _, d := range found {
			got = append(got, d.path)
		}
		slices.Sort(got)
		if slices.Sort(tt.want); !slices.Equal(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// A request's notifications are those of one method that contain a text, in their order.
func TestNotificationsAreHeard(t *testing.T) {
	e := &recorder{}
	say := func(token string, n float64) {
		e.record(progress, map[string]any{"progressToken": token, "progress": n})
	}
	say("a", 0) // not recorded yet
	e.want(&events{Method: progress, Has: `"a"`, Await: 2})
	say("a", 1)
	say("b", 1)
	e.record(logged, "a")
	say("a", 2)
	e.await(e.wants)
	if got, want := short(e.stop()),
		`[{"progress":1,"progressToken":"a"},{"progress":2,"progressToken":"a"}]`; got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
	if say("a", 3); len(e.heard) != 2 {
		t.Error("what came after the request is heard")
	}
}

// A rule applies only where its fields match, and applies reports the values that matched.
func TestRulesAreNarrow(t *testing.T) {
	r := rule{ways: []way{ownEndpoint}, clients: []string{"Go"}, steps: []string{"ping"},
		paths: []string{".a[*].b"}, holds: func(location, difference) bool {
			return true
		}}
	good, path := location{way: ownEndpoint, sdk: "Go", step: "ping"}, ".a[7].b"
	if by, ok := r.applies(good, difference{path: path}); !ok || !slices.Equal(by, r.values()) {
		t.Errorf("applies by %q: %t, want %q", by, ok, r.values())
	}
	for name, bad := range map[string]location{
		"way":    {way: aggregate, sdk: "Go", step: "ping"},
		"client": {way: ownEndpoint, sdk: "TypeScript 1", step: "ping"},
		"step":   {way: ownEndpoint, sdk: "Go", step: "tools/call"},
	} {
		if _, ok := r.applies(bad, difference{path: path}); ok {
			t.Errorf("it applies to another %s", name)
		}
	}
	for _, path := range []string{".a[7].b.c", ".a[].b", ".a.b", "x.a[7].b"} {
		if _, ok := r.applies(good, difference{path: path}); ok {
			t.Errorf("it applies to %s", path)
		}
	}
}

// A difference without a rule is a fault, and so is a rule without a difference.
func TestReportJudges(t *testing.T) {
	r := newReport(nil)
	a := location{server: published{name: "s"}, way: aggregate, step: "tools/list"}
	r.add(a, "tools/list", []difference{{".items.a.name", "a", "s__a"}, {".items.a.title", "a", "b"},
		{".items.a.other.Name", "a", "s__a"}}, 2)
	want := `s, , aggregate, tools/list.items.a.title: "a" directly, "b" through mcpd`
	if wrong := r.faults(false); !slices.Contains(wrong, want) ||
		!slices.Contains(wrong, `the rule "the aggregate is mcpd" no longer applies: remove it`) {
		t.Errorf("got %q", wrong)
	}
	got := r.faults(true)
	if slices.Contains(got, `the rule "names are prefixed" no longer applies: remove it`) {
		t.Error("a rule that was applied is said to apply no longer")
	}
	for fault, want := range map[string]bool{
		`the rule "names are prefixed" no longer applies to step prompts/list: remove that`: true,
		`the rule "names are prefixed" no longer applies to step tools/list: remove that`:   false,
	} {
		if slices.Contains(got, fault) != want {
			t.Errorf("%s: got %t, want %t", fault, !want, want)
		}
	}
}
