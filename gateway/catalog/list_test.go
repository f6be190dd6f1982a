package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// bare shows an item unchanged.
func bare(_ string, item jsontext.Value) jsontext.Value { return item }

// named returns a list of tools with these names, by server.
func named(k Kind, servers map[string][]string) List {
	var parts []Part
	for server, names := range servers {
		p := Part{Server: server, Names: names}
		for _, name := range names {
			p.Items = append(p.Items, jsontext.Value(fmt.Sprintf(`{"name":"%s/%s"}`, server, name)))
		}
		parts = append(parts, p)
	}
	return NewList(k, parts)
}

// numbered returns n names.
func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(i))
	}
	return names
}

// read parses a page.
func read(t *testing.T, raw jsontext.Value, err error) (names []string, next string) {
	t.Helper()
	var result struct {
		Tools      []struct{ Name string }
		NextCursor string
	}
	if err == nil {
		err = json.Unmarshal(raw, &result)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names, result.NextCursor
}

// S37: a cursor is valid for lists of one kind and for one scope, whatever else changes.
func TestPages(t *testing.T) {
	one := func(k Kind, n int) List { return named(k, map[string][]string{"one": numbered(n)}) }
	l := one(Tools, 2*PageSize+1)
	var got, cursors []string
	for cursor := ""; ; {
		raw, err := l.Page("acme", cursor, bare)
		names, next := read(t, raw, err)
		got = append(got, names...)
		if cursors = append(cursors, next); next == "" {
			break
		}
		cursor = next
	}
	if all := slices.Compact(slices.Sorted(slices.Values(got))); len(cursors) != 3 ||
		len(got) != 2*PageSize+1 || len(all) != len(got) {
		t.Errorf("%d pages with %d items, %d of them different", len(cursors), len(got), len(all))
	}
	cursor := cursors[1]
	for name, try := range map[string]func() (jsontext.Value, error){
		"another tenant": func() (jsontext.Value, error) { return l.Page("other", cursor, bare) },
		"another kind": func() (jsontext.Value, error) {
			return one(Prompts, 2*PageSize+1).Page("acme", cursor, bare)
		},
		"garbage":   func() (jsontext.Value, error) { return l.Page("acme", "%%%", bare) },
		"too short": func() (jsontext.Value, error) { return l.Page("acme", "AAAA", bare) },
		"half of one": func() (jsontext.Value, error) {
			return l.Page("acme", cursor[:len(cursor)/2], bare)
		},
		"one more letter": func() (jsontext.Value, error) { return l.Page("acme", cursor+"A", bare) },
		"two mixed": func() (jsontext.Value, error) {
			return l.Page("acme", cursors[0][:12]+cursor[12:], bare)
		},
	} {
		if _, err := try(); !errors.Is(err, protocol.ConditionStateInvalid) {
			t.Errorf("%s: %v, want an invalid cursor", name, err)
		}
	}
	for n, want := range map[int]string{0: `{"tools":[]}`,
		2: `{"tools":[{"name":"one/0"},{"name":"one/1"}]}`} {
		if got, err := one(Tools, n).Page("acme", "", bare); err != nil || string(got) != want {
			t.Errorf("%d items: %s, %v, want %s", n, got, err, want)
		}
	}
	for _, n := range []int{1, PageSize + 500} { // for a list that is now shorter
		raw, err := one(Tools, n).Page("acme", cursors[0], bare)
		names, next := read(t, raw, err)
		again := slices.ContainsFunc(names, func(name string) bool {
			return slices.Contains(got[:PageSize], name)
		})
		if next != "" || again || n > PageSize && len(names) == 0 {
			t.Errorf("of %d items %d come behind the first page, and then %q", n, len(names), next)
		}
	}
}

// Items and servers may be added, removed or reordered between two pages. No item comes twice,
// and each item that is present all the time comes once.
func TestCursorsSurviveChanges(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		servers, stays := map[string][]string{}, map[string]bool{}
		for i := range 60 { // 30 of them stay unchanged
			name := fmt.Sprintf("s%d", i)
			servers[name] = numbered(20 + rng.IntN(150))
			for _, item := range servers[name] {
				if i%2 == 0 {
					stays[name+"/"+item] = true
				}
			}
		}
		seen := map[string]int{}
		for cursor, pages := "", 0; ; pages++ {
			raw, err := named(Tools, servers).Page("acme", cursor, bare)
			names, next := read(t, raw, err)
			for _, name := range names {
				seen[name]++
			}
			if cursor = next; next == "" {
				if pages < 2 {
					t.Fatalf("%d pages are too few to see anything", pages)
				}
				break
			}
			for i := 1; i < 60; i += 2 {
				switch name := fmt.Sprintf("s%d", i); rng.IntN(4) {
				case 0:
					delete(servers, name)
				case 1:
					servers[name] = numbered(rng.IntN(300))
				case 2:
					rng.Shuffle(len(servers[name]), func(i, j int) {
						servers[name][i], servers[name][j] = servers[name][j], servers[name][i]
					})
				}
			}
		}
		for name, n := range seen {
			if n > 1 {
				t.Errorf("seed %d: %s comes %d times", seed, name, n)
			}
		}
		for name := range stays {
			if seen[name] != 1 {
				t.Errorf("seed %d: %s is there all the while and comes %d times", seed, name, seen[name])
			}
		}
	}
}

// A page builds only its own items. Its allocations do not grow with a list that is a hundred
// times as long.
func TestPageCostsWhatItHolds(t *testing.T) {
	cost := func(servers int) (shown, allocated int64) {
		all := map[string][]string{}
		for i := range servers {
			all[fmt.Sprintf("s%04d", i)] = numbered(100)
		}
		l := named(Tools, all)
		raw, err := l.Page("acme", "", bare)
		_, next := read(t, raw, err)
		count := func(_ string, item jsontext.Value) jsontext.Value { shown++; return item }
		bytes := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				shown = 0
				if _, err := l.Page("acme", next, count); err != nil {
					b.Fatal(err)
				}
			}
		}).AllocedBytesPerOp()
		return shown, bytes
	}
	few, fewBytes := cost(30)
	many, manyBytes := cost(1000)
	if few != PageSize || many != PageSize || manyBytes > fewBytes*3/2 {
		t.Errorf("of 3,000 items %d are made in %d bytes, of 100,000 %d in %d", few, fewBytes,
			many, manyBytes)
	}
}

// The cost of a catalog of prepared servers grows with the number of servers, not of items. So a
// change of one server costs only that server.
func TestCatalogCostsItsServers(t *testing.T) {
	cost := func(tools int) int64 {
		var servers []Server
		for i := range 100 {
			s := Server{Name: fmt.Sprintf("s%d", i), Prepared: &Prepared{}}
			for j := range tools {
				s.Items[Tools] = append(s.Items[Tools], jsontext.Value(fmt.Sprintf(`{"name":"t%d"}`, j)))
			}
			servers = append(servers, s)
		}
		before := New(servers).List(Tools).Items()
		if got := New(servers).List(Tools).Items(); len(got) != 100*tools ||
			string(got[tools]) != string(before[tools]) || servers[0].Prepared.Size() == 0 {
			t.Fatalf("%d items", len(got))
		}
		return testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				New(servers)
			}
		}).AllocedBytesPerOp()
	}
	if few, many := cost(1), cost(200); many > few*3/2 {
		t.Errorf("of 100 tools %d bytes, of 20,000 %d", few, many)
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
		if s := fmt.Sprint(got.Added, got.Removed, got.Changed, got.Moved); s != c.want ||
			got.Any() == (c.want == "[] [] [] false") {
			t.Errorf("%s: %s, any %v, want %s", name, s, got.Any(), c.want)
		}
	}
	if !Diff(Tools, list(`{"name":"a","n":12345678901234567890}`),
		list(`{"name":"a","n":12345678901234567891}`)).Any() {
		t.Error("large numbers are compared as floats")
	}
	if !Diff(Tools, list(`{"name":"a"}`),
		list(`{"name":"a","inputSchema":{"properties":{"x":{"description":"new"}}}}`)).Any() {
		t.Error("a change deep in a schema is not seen") // S80
	}
}
