package catalog

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/rewrite"
	"mcpd/protocol/tasks"
)

// rewritten maps lists to the kinds of their items.
var rewritten = map[merge.Kind]rewrite.Kind{
	merge.Tools: rewrite.Tool, merge.Prompts: rewrite.Prompt, merge.Resources: rewrite.Resource,
	merge.Templates: rewrite.Template,
}

// Listed is a page of a list in the form for clients of a revision; see merge.List.Page. Servers of
// several revisions share one list. So every item is treated as one of the other era than the
// client's, and loses everything that the client's revision does not define. Items are repaired, or
// omitted if the revision has no form for them. Pages are not cached: a page costs no more than its
// items, and there would be one for each revision of each view.
func (v *View) Listed(
	kind merge.Kind, version protocol.Version, scope, cursor string,
) (jsontext.Value, error) {
	from, legacy := protocol.Latest, version.Era() == protocol.Legacy
	if !legacy {
		from = protocol.LatestLegacy
	}
	var of string // server of the previous item
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
			item, _ = merge.Repair(kind, legacy, item)
			return item
		})
	if err != nil {
		return nil, err
	}
	return merge.WithIncomplete(page, v.incomplete[kind]), nil
}

// unwrapped removes the output schema of a legacy server's tool if it would have to be wrapped,
// because the server's results are passed on unchanged.
func unwrapped(tool jsontext.Value) jsontext.Value {
	if schema, ok := jsonedit.Get(tool, "outputSchema"); ok && rewrite.Wraps(schema) {
		tool, _ = jsonedit.Delete(tool, "outputSchema")
	}
	return tool
}

// Dialect is the task dialect of a server, as far as it is known.
func (v *View) Dialect(server string) (tasks.Dialect, client.Facts) {
	for _, known := range v.Servers {
		if known.Name == server {
			return tasks.DialectOf(known.Facts.Version, known.Facts.Capabilities), known.Facts
		}
	}
	return tasks.None, client.Facts{}
}

// owned identifies a tool by its server and the server's name for it.
type owned struct{ server, name string }

// Support is the declared task support of a tool. The argument tool is the server's own name.
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

// tasked is a tool in the form for clients of 2025-11-25. If its server uses the tasks extension,
// any call may become a task. If its server has no tasks, the tool must not declare task support.
func tasked(tool jsontext.Value, dialect tasks.Dialect) jsontext.Value {
	switch dialect {
	case tasks.Extension:
		tool, _ = jsonedit.Set(tool, jsontext.Value(`{"taskSupport":"optional"}`), "execution")
	case tasks.None:
		if tasks.SupportOf(tool) != tasks.Forbidden {
			tool, _ = jsonedit.Delete(tool, "execution")
		}
	}
	return tool
}

// Tasked returns a function that converts a page of one server's tools to the form for clients of
// 2025-11-25. The function does not keep the view alive.
func (v *View) Tasked(server string) func(page jsontext.Value) jsontext.Value {
	dialect, _ := v.Dialect(server)
	return func(page jsontext.Value) jsontext.Value {
		return jsonedit.MapMembers(page, func(m jsonedit.Member) (jsontext.Value, bool) {
			if !m.Is("tools") {
				return m.Value, true
			}
			return jsonedit.MapElements(m.Value, func(tool jsontext.Value) (jsontext.Value, bool) {
				return tasked(tool, dialect), true
			}), true
		})
	}
}

// Mirrors are the arguments of a tool that must be repeated in header fields, according to the
// schema that modern clients see. Only a modern server's own tools have them, not those of the
// aggregate. An invalid declaration counts as none.
func (v *View) Mirrors(tool string) []headers.Mirror {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mirrors == nil {
		v.mirrors = map[string][]headers.Mirror{}
		for _, item := range v.annotated {
			schema, _ := jsonedit.Get(item, "inputSchema")
			if m, err := headers.Mirrors(schema); err == nil && len(m) > 0 {
				name, _ := jsonedit.GetString(item, "name")
				v.mirrors[name] = m
			}
		}
	}
	return v.mirrors[tool]
}
