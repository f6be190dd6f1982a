package faults

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

var (
	kindName  = regexp.MustCompile(`^[a-z]+\.[a-z_]+$`)
	paramName = regexp.MustCompile(`^[a-z][a-z_]*$`)
)

// The table is sorted and every entry is complete.
func TestKinds(t *testing.T) {
	if !slices.IsSortedFunc(Kinds, func(a, b Kind) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("kinds are not in the order of their names")
	}
	for i, k := range Kinds {
		if i > 0 && Kinds[i-1].Name == k.Name {
			t.Errorf("%s is there twice", k.Name)
		}
		if !kindName.MatchString(k.Name) || k.Inject == nil || len(k.CatalogueIDs) == 0 ||
			k.Description == "" ||
			strings.HasSuffix(k.Description, ".") {
			t.Errorf("%s: name, rows, what it is, or how it is done", k.Name)
		}
		for _, id := range k.CatalogueIDs {
			if _, ok := InCatalogue(id); !ok {
				t.Errorf("%s: the catalogue has no %s", k.Name, id)
			}
		}
		if k.Partial && k.Aim == AtHost {
			t.Errorf("%s: some of a hundred hosts", k.Name)
		}
		k.Defaults() // panics if a default is out of its range
		for _, p := range k.Params {
			if !paramName.MatchString(p.Name) || p.Description == "" || p.Default == "" && p.Type != Text {
				t.Errorf("%s %s: name, what it means, or its default", k.Name, p.Name)
			}
		}
	}
}

func TestCatalogueIsComplete(t *testing.T) {
	if len(Catalogue) != 69 || Catalogue[0].ID != "F01" || Catalogue[68].ID != "F69" {
		t.Errorf("%d rows", len(Catalogue))
	}
	for i := 1; i < len(Catalogue); i++ {
		if Catalogue[i-1].ID >= Catalogue[i].ID || Catalogue[i].Description == "" {
			t.Errorf("%s is not in its place, or says nothing", Catalogue[i].ID)
		}
	}
}

// Every row of the catalogue has a kind of fault, a test, or a reason why there is nothing to
// survive. The tests that it names exist.
func TestCatalogueIsShown(t *testing.T) {
	for _, e := range Catalogue {
		tests := strings.Fields(e.Tests)
		done := len(tests) > 0 || slices.ContainsFunc(Kinds, func(k Kind) bool {
			return slices.Contains(k.CatalogueIDs, e.ID)
		})
		if done == (e.Exempt != "") {
			t.Errorf("%s: shown %t, and %q is why not", e.ID, done, e.Exempt)
		}
		for _, name := range tests {
			if !mcptest.TestExists(t, "../..", name) {
				t.Errorf("%s: there is no %s", e.ID, name)
			}
		}
	}
}

func TestParamsAreStrict(t *testing.T) {
	for _, c := range []struct {
		p    Param
		text string
		want any // nil is refused
	}{
		{Param{Type: Duration, High: int64(time.Minute)}, "1m", time.Minute},
		{Param{Type: Duration, High: int64(time.Minute)}, "61s", nil},
		{Param{Type: Duration, High: int64(time.Minute)}, "-1s", nil},
		{Param{Type: Duration, High: int64(time.Minute)}, "5", nil},
		{Param{Type: Number, Low: 1, High: 5}, "5", 5},
		{Param{Type: Number, Low: 1, High: 5}, "6", nil},
		{Param{Type: Number, Low: 1, High: 5}, "1.5", nil},
		{Param{Type: Size, Low: 1, High: 1 << 20}, "1MiB", int64(1 << 20)},
		{Param{Type: Size, Low: 1, High: 1 << 20}, "2MiB", nil},
		{Param{Type: Size, Low: 1, High: 1 << 20}, "1MB", nil},
		{Param{Type: Text, High: 3}, "abc", "abc"},
		{Param{Type: Text, High: 3}, "abcd", nil},
		{Param{Type: Text, Words: []string{"a", "b"}}, "b", "b"},
		{Param{Type: Text, Words: []string{"a", "b"}}, "c", nil},
	} {
		got, ok := c.p.Parse(c.text)
		if ok != (c.want != nil) || ok && got != c.want {
			t.Errorf("%v of %s is %v, %v; want %v", c.text, c.p.Want(), got, ok, c.want)
		}
	}
}

// A kind that reads an undeclared parameter panics at once.
func TestUndeclaredParametersPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it is read as nothing")
		}
	}()
	actorPanic.Defaults().Duration("delay")
}

func TestReaches(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"a/b", "a", true}, {"a/b", "a/b", true}, {"a/b", "a/c", false}, {"a/b", "a/b/c", false},
		{"a", "a/b", false},
		{"a/*/c", "a/b", true}, {"a/*/c", "a/b/c", true}, {"a/*/c", "a/b/d", false},
		{"a/**", "a/b/c", true}, {"**", "a", true}, {"b/**", "a", false},
	} {
		if got := Reaches(c.pattern, c.path); got != c.want {
			t.Errorf("Reaches(%q, %q) is %v", c.pattern, c.path, got)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"mcpd", "mcpd", true},
		{"mcpd", "mcpd/core", false},
		{"mcpd/core", "mcpd", false},
		{"mcpd/*", "mcpd/core", true},
		{"mcpd/*", "mcpd/core/storage", false},
		{"mcpd/*/storage", "mcpd/core/storage", true},
		{"mcpd/core/**", "mcpd/core", true},
		{"mcpd/core/**", "mcpd/core/storage", true},
		{"mcpd/core/**", "mcpd/tenants", false},
		{"mcpd/core/**", "mcpd/cores", false},
		{"mcpd/tenants/acme/**", "mcpd/tenants/acme/client_sup/demo/1/connection", true},
		{"**", "mcpd", true},
	} {
		if got := Match(c.pattern, c.path); got != c.want {
			t.Errorf("Match(%q, %q) is %v", c.pattern, c.path, got)
		}
	}
}

func TestParseTree(t *testing.T) {
	tree, err := ParseTree([]byte(`{"id":"mcpd","path":"mcpd","type":"supervisor","children":[{"path":"mcpd/tenants","children":[
		{"path":"mcpd/tenants/acme","children":[{"path":"mcpd/tenants/acme/client_sup","childCount":1,"children":[{"path":"mcpd/tenants/acme/client_sup/inside","link":"builtin"},{"path":"mcpd/tenants/acme/client_sup/demo","link":"stdio","children":[
			{"path":"mcpd/tenants/acme/client_sup/demo/1/connection","type":"worker","status":"running","state":"ready","server":"demo","pid":4711,"restarts":2,"incarnation":3,"mailbox":4,"new":{}}]}]}]},
		{"path":"mcpd/tenants/globex"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Row{
		Path: "mcpd/tenants/acme/client_sup/demo/1/connection", Type: "worker", Status: "running",
		State: "ready", Server: "demo", PID: 4711, Restarts: 2, Incarnation: 3, Mailbox: 4,
	}
	if got := tree.Children("acme", "demo"); !slices.Equal(got, []Row{want}) {
		t.Errorf("children %v, want %v", got, want)
	}
	if got := tree.Tenants(); !slices.Equal(got, []string{"acme", "globex"}) {
		t.Errorf("tenants %v", got)
	}
	if got := tree.Servers("acme"); !slices.Equal(got, []string{"inside", "demo"}) {
		t.Errorf("servers %v", got)
	}
	if got := tree.Programs("acme"); !slices.Equal(got, []string{"demo"}) {
		t.Errorf("programs %v", got)
	}
	for _, bad := range []string{"", "{}", "[]", `{"path": 5}`} {
		if _, err := ParseTree([]byte(bad)); err == nil {
			t.Errorf("%q is a tree", bad)
		}
	}
}
