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
		{`{"a": {"b": [{"c": "x"}]}}`, `{"a": {"b": [{"c": "y"}]}}`, `[.a.b[0].c: "x" directly, "y" through mcpd]`},
		{`{"a": {}}`, `{"a": []}`, `[.a: {} directly, [] through mcpd]`},
	} {
		found, compared := compare("", parse(t, tt.direct), parse(t, tt.through))
		if got := fmt.Sprint(found); got != tt.want || compared == 0 {
			t.Errorf("%s and %s: got %s, want %s", tt.direct, tt.through, got, tt.want)
		}
	}
}

// One item that is missing is one difference, and the order of items counts.
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
		{list("s__b", "s__a", "s__c"), []string{".items.a.name", ".items.b.name", ".items.c.name", ".order[0]", ".order[1]"}},
		{list("s__a", "s__b"), []string{".items.a.name", ".items.b.name", ".items.c", ".order[2]"}},
		{list("s__a", "s__a", "s__b", "s__c"), []string{".items.a.name", ".items.a (again)", ".items.b.name", ".items.c.name", ".order[1]", ".order[2]", ".order[3]"}},
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

// A difference without a rule, and a rule without a difference, are wrong.
func TestReportJudges(t *testing.T) {
	r := newReport(nil)
	a := about{server: published{name: "s"}, way: joint, step: "tools/list"}
	r.add(a, "tools/list", []difference{{".items.a.name", "a", "s__a"}, {".items.a.title", "a", "b"}}, 2)
	want := `s, , aggregate, tools/list.items.a.title: "a" directly, "b" through mcpd`
	if wrong := r.faults(false); !slices.Contains(wrong, want) || !slices.Contains(wrong, `the rule "the aggregate is mcpd" no longer applies: remove it`) {
		t.Errorf("got %q", wrong)
	}
	if slices.Contains(r.faults(true), `the rule "names are prefixed" no longer applies: remove it`) {
		t.Error("a rule that was applied is said to apply no longer")
	}
}
