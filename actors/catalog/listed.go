package catalog

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/rewrite"
	"mcpd/protocol/splice"
	"mcpd/protocol/tasks"
)

// rewritten are the kinds of items by the lists they stand in.
var rewritten = map[merge.Kind]rewrite.Kind{
	merge.Tools: rewrite.Tool, merge.Prompts: rewrite.Prompt, merge.Resources: rewrite.Resource,
	merge.Templates: rewrite.Template,
}

// Listed is a page of a list as clients of a revision see it; see merge.List.Page. Servers of
// several revisions stand in one list: an item is taken for one of the era that the client is not
// of, so that all is left out which the client's own revision has no place for, and items are
// repaired, or left out where that revision has no form for them. A page is made each time: it
// costs what it holds, and kept pages would be one for each revision of each view.
func (v *View) Listed(
	kind merge.Kind, version protocol.Version, scope, cursor string,
) (jsontext.Value, error) {
	from, legacy := protocol.Latest, version.Era() == protocol.Legacy
	if !legacy {
		from = protocol.LatestLegacy
	}
	var of string // the server of the item before
	var dialect tasks.Dialect
	var facts client.Facts
	page, err := v.List(kind).
		Page(scope, cursor, func(server string, item jsontext.Value) jsontext.Value {
			if of != server {
				of = server
				dialect, facts = v.Dialect(server)
			}
			if kind == merge.Tools && legacy && facts.Version.Era() == protocol.Legacy {
				item = unwrapped(item)
			}
			item = rewrite.Item(rewritten[kind], from, version, item)
			if kind == merge.Tools && version.Has(protocol.ToolExecution) {
				item = tasked(item, dialect)
			}
			item, _ = merge.Sound(kind, legacy, item)
			return item
		})
	if err != nil {
		return nil, err
	}
	return merge.WithIncomplete(page, v.incomplete[kind]), nil
}

// unwrapped is a tool of a legacy server without a schema that would be wrapped: the server's results
// pass as they are.
func unwrapped(tool jsontext.Value) jsontext.Value {
	if schema, ok := splice.Get(tool, "outputSchema"); ok && rewrite.Wraps(schema) {
		tool, _ = splice.Delete(tool, "outputSchema")
	}
	return tool
}

// Dialect is how a server speaks of tasks, as far as it is known.
func (v *View) Dialect(server string) (tasks.Dialect, client.Facts) {
	for _, known := range v.Servers {
		if known.Name == server {
			return tasks.DialectOf(known.Facts.Version, known.Facts.Capabilities), known.Facts
		}
	}
	return tasks.None, client.Facts{}
}

// owned is a tool by its server and that server's own name of it.
type owned struct{ server, name string }

// Support is what a tool says of tasks, by the name that its server has for it.
func (v *View) Support(server, tool string) tasks.Support {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.supports == nil {
		v.supports = map[owned]tasks.Support{}
		for _, part := range v.List(merge.Tools).Parts() {
			for i, item := range part.Items {
				if s := tasks.SupportOf(item); s != tasks.Forbidden {
					v.supports[owned{part.Server, part.Names[i]}] = s
				}
			}
		}
	}
	return v.supports[owned{server, tool}]
}

// tasked is a tool as clients of 2025-11-25 see it. When its server has tasks of the extension, any
// call may become one. When its server has none, the tool cannot say that a call may.
func tasked(tool jsontext.Value, dialect tasks.Dialect) jsontext.Value {
	switch dialect {
	case tasks.Extension:
		tool, _ = splice.Set(tool, jsontext.Value(`{"taskSupport":"optional"}`), "execution")
	case tasks.None:
		if tasks.SupportOf(tool) != tasks.Forbidden {
			tool, _ = splice.Delete(tool, "execution")
		}
	}
	return tool
}

// Tasked makes a page of tools of one server into what such clients see. It does not keep the view.
func (v *View) Tasked(server string) func(page jsontext.Value) jsontext.Value {
	dialect, _ := v.Dialect(server)
	return func(page jsontext.Value) jsontext.Value {
		return splice.MapMembers(page, func(m splice.Member) (jsontext.Value, bool) {
			if !m.Is("tools") {
				return m.Value, true
			}
			return splice.MapElements(m.Value, func(tool jsontext.Value) (jsontext.Value, bool) {
				return tasked(tool, dialect), true
			}), true
		})
	}
}

// Mirrors are the arguments of a tool which its schema, as modern clients see it, wants repeated in
// header fields. That is so of a modern server's own tools, and not in the list of all servers. A
// schema that asks for it in a way that cannot be is taken for one that does not ask.
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
