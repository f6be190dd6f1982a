package catalog

import (
	"github.com/go-json-experiment/json/jsontext"

	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/rewrite"
	"mcpd/protocol/splice"
)

// listAs is a list as a revision shows it.
type listAs struct {
	kind    merge.Kind
	version protocol.Version
}

// rewritten are the kinds of items by the lists they stand in.
var rewritten = map[merge.Kind]rewrite.Kind{
	merge.Tools: rewrite.Tool, merge.Prompts: rewrite.Prompt, merge.Resources: rewrite.Resource, merge.Templates: rewrite.Template,
}

// Listed is a list as clients of a revision see it. Servers of several revisions stand in one list: an item is taken for one of the era
// that the client is not of, so that all is left out which the client's own revision has no place for.
func (v *View) Listed(kind merge.Kind, version protocol.Version) merge.List {
	from := protocol.Latest
	if version.Era() == protocol.Modern {
		from = protocol.LatestLegacy
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	key := listAs{kind, version}
	if list, ok := v.lists[key]; ok {
		return list
	}
	list := v.List(kind)
	var items []jsontext.Value // nil while nothing is another
	for i, item := range list.Items() {
		said := rewrite.Item(rewritten[kind], from, version, item)
		if items == nil && len(said) != len(item) {
			items = append(items, list.Items()[:i]...)
		}
		if items != nil {
			items = append(items, said)
		}
	}
	if items != nil {
		list = merge.NewList(kind, items)
	}
	if v.lists == nil {
		v.lists = map[listAs]merge.List{}
	}
	v.lists[key] = list
	return list
}

// Mirrors are the arguments of a tool which its schema, as modern clients see it, wants repeated in header fields. That is so of a modern
// server's own tools, and not in the list of all servers. A schema that asks for it in a way that cannot be is taken for one that does not
// ask.
func (v *View) Mirrors(tool string) []headers.Mirror {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mirrors == nil {
		v.mirrors = map[string][]headers.Mirror{}
		for _, item := range v.annotated {
			schema, _ := splice.Get(item, "inputSchema")
			if m, err := headers.Mirrors(schema); err == nil && len(m) > 0 {
				name, _ := splice.GetString(item, "name")
				v.mirrors[name] = m
			}
		}
	}
	return v.mirrors[tool]
}
