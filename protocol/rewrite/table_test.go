package rewrite_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"mcpd/protocol"
	"mcpd/protocol/rewrite"
)

// members lists the members of a definition. It returns false if the revision lacks the definition.
func (p published) members(path string) (map[string]bool, bool) {
	name, rest, _ := strings.Cut(path, ".")
	schema, ok := p.defs[name].(object)
	if !ok {
		return nil, false
	}
	for {
		if ref, ok := schema["$ref"].(string); ok {
			schema = p.defs[ref[strings.LastIndexByte(ref, '/')+1:]].(object)
		}
		named, ok := schema["properties"].(object)
		if rest == "" {
			list := map[string]bool{}
			for name := range named {
				list[name] = true
			}
			return list, ok
		}
		name, rest, _ = strings.Cut(rest, ".")
		if schema, ok = named[name].(object); !ok {
			return nil, false
		}
	}
}

// older reports members that a schema omits although the text of its revision, or another type of
// it, has them: all params may have _meta.
func older(definition, name string) bool {
	return name == "_meta" && strings.HasSuffix(definition, ".params")
}

// The table has every member that was introduced, removed or renamed, with the right feature. It
// has no other members, except those that lead to another type.
func TestTableOfMembersMatchesSchemas(t *testing.T) {
	all := load(t)
	table := rewrite.Table()
	if got := len(table) + rewrite.Undefined; got != rewrite.Types {
		t.Errorf("got %d types, want %d", got, rewrite.Types)
	}
	for names, rows := range table {
		known := map[string]rewrite.Row{}
		for _, row := range rows {
			known[row.Name] = row
		}
		seen := map[string]bool{}
		for _, definition := range *names {
			ever, changes := map[string]bool{}, map[string]bool{}
			first := true
			for _, v := range protocol.Versions() {
				has, ok := all[v].members(definition)
				if !ok {
					continue
				}
				for name := range has {
					changes[name] = changes[name] || !first && !ever[name]
				}
				for name := range ever {
					changes[name] = changes[name] || !has[name]
				}
				maps.Copy(ever, has)
				first = false
			}
			maps.Copy(seen, ever)
			for _, v := range protocol.Versions() {
				has, ok := all[v].members(definition)
				if !ok {
					continue
				}
				for name := range ever {
					row, listed := known[name]
					switch {
					case older(definition, name):
					case !listed && changes[name]:
						t.Errorf("%s.%s: came or went, but is not in the table", definition, name)
					case listed && row.Has(v) != has[name]:
						t.Errorf("%v %s.%s: the schema says %v, the table says otherwise", v, definition,
							name, has[name])
					}
				}
			}
		}
		for _, row := range rows {
			if !seen[row.Name] && !slices.Contains(beyond, row.Name) {
				t.Errorf("%v: no schema has %s", *names, row.Name)
			}
		}
	}
}

// beyond lists rows that no such definition covers: resultType in answers of drafts, _meta where
// only the text has it, and titled choices, which have their own definition.
var beyond = []string{"resultType", "_meta", "oneOf"}
