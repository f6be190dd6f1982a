package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// S37: a cursor fits one list of one kind, seen by one scope, at one time.
func TestPages(t *testing.T) {
	items := func(n int) (items []jsontext.Value) {
		for i := range n {
			items = append(items, jsontext.Value(fmt.Sprintf(`{"name":"%d"}`, i)))
		}
		return items
	}
	l := NewList(Tools, items(2*PageSize+1))
	var got []string
	cursor, pages := "", 0
	var cursors []string
	for {
		raw, err := l.Page("acme", cursor)
		if err != nil {
			t.Fatal(err)
		}
		var result struct {
			Tools      []struct{ Name string }
			NextCursor string
		}
		if err := json.Unmarshal(raw, &result); err != nil {
			t.Fatal(err)
		}
		for _, tool := range result.Tools {
			got = append(got, tool.Name)
		}
		if pages++; result.NextCursor == "" {
			break
		}
		cursor = result.NextCursor
		cursors = append(cursors, cursor)
	}
	if pages != 3 || len(got) != 2*PageSize+1 || got[2*PageSize] != fmt.Sprint(2*PageSize) {
		t.Errorf("%d pages with %d items", pages, len(got))
	}
	for name, try := range map[string]func() (jsontext.Value, error){
		"another tenant":  func() (jsontext.Value, error) { return l.Page("other", cursor) },
		"another kind":    func() (jsontext.Value, error) { return NewList(Prompts, items(2*PageSize+1)).Page("acme", cursor) },
		"a changed list":  func() (jsontext.Value, error) { return NewList(Tools, items(2*PageSize+2)).Page("acme", cursor) },
		"a short list":    func() (jsontext.Value, error) { return NewList(Tools, items(1)).Page("acme", cursor) },
		"garbage":         func() (jsontext.Value, error) { return l.Page("acme", "%%%") },
		"half of one":     func() (jsontext.Value, error) { return l.Page("acme", cursor[:len(cursor)/2]) },
		"one more letter": func() (jsontext.Value, error) { return l.Page("acme", cursor+"A") },
		"two mixed":       func() (jsontext.Value, error) { return l.Page("acme", cursors[0][:6]+cursors[1][6:]) },
		"a made up place": func() (jsontext.Value, error) { return l.Page("acme", l.seal("acme", 7)) },
		"past the end":    func() (jsontext.Value, error) { return l.Page("acme", l.seal("acme", 5*PageSize)) },
	} {
		if _, err := try(); !errors.Is(err, protocol.ConditionStateInvalid) {
			t.Errorf("%s: %v, want an invalid cursor", name, err)
		}
	}
	for n, want := range map[int]string{0: `{"tools":[]}`, 2: `{"tools":[{"name":"0"},{"name":"1"}]}`} {
		if got, err := NewList(Tools, items(n)).Page("acme", ""); err != nil || string(got) != want {
			t.Errorf("%d items: %s, %v, want %s", n, got, err, want)
		}
	}
}

func TestDiff(t *testing.T) {
	list := func(items ...string) (out []jsontext.Value) {
		for _, item := range items {
			out = append(out, jsontext.Value(item))
		}
		return out
	}
	before := list(`{"name":"a","n":1}`, `{"name":"b"}`)
	for name, c := range map[string]struct {
		after []jsontext.Value
		want  string
	}{
		"the same":      {before, "[] [] [] false"},
		"other spacing": {list(`{ "n":1, "name":"a" }`, `{"n\u0061me":"b"}`), "[] [] [] false"},
		"added":         {list(`{"name":"a","n":1}`, `{"name":"c"}`, `{"name":"b"}`), "[c] [] [] false"},
		"removed":       {list(`{"name":"b"}`), "[] [a] [] false"},
		"changed":       {list(`{"name":"a","n":2}`, `{"name":"b"}`), "[] [] [a] false"},
		"moved":         {list(`{"name":"b"}`, `{"name":"a","n":1}`), "[] [] [] true"},
		"empty":         {nil, "[] [a b] [] false"},
		"nameless":      {list(`{"name":"a","n":1}`, `{"name":"b"}`, `{}`), "[{}] [] [] false"},
		"twice":         {list(`{"name":"a","n":1}`, `{"name":"b"}`, `{"name":"b"}`), "[] [] [] false"},
	} {
		got := Diff(Tools, before, c.after)
		if s := fmt.Sprint(got.Added, got.Removed, got.Changed, got.Moved); s != c.want || got.Any() == (c.want == "[] [] [] false") {
			t.Errorf("%s: %s, any %v, want %s", name, s, got.Any(), c.want)
		}
	}
	if !Diff(Tools, list(`{"name":"a","n":12345678901234567890}`), list(`{"name":"a","n":12345678901234567891}`)).Any() {
		t.Error("large numbers are compared as floats")
	}
	if !Diff(Tools, list(`{"name":"a"}`), list(`{"name":"a","inputSchema":{"properties":{"x":{"description":"new"}}}}`)).Any() {
		t.Error("a change deep in a schema is not seen") // S80
	}
}
