package catalog

import (
	"maps"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// A schema may refer to the $id of another tool's schema, because clients give all schemas of a
// list to one validator. In the list of all servers each $id is unique to its tool, and the other
// tool may be on a later page. Therefore the other schema is embedded in the schema that refers
// to it (JSON Schema 2020-12 §9.3).

// MaxBundled bounds how many bytes are embedded in the schemas of one server's tools. A small
// schema counts as leastBundled bytes.
const (
	MaxBundled   = 1 << 20
	leastBundled = 1 << 10
)

// schemaLibrary maps the $ids in the schemas of one server's tools to the schemas.
type schemaLibrary struct {
	// by has the schemas by $id, for each member of the tool.
	by map[string]map[document]jsontext.Value
	// remaining is the rest of MaxBundled.
	remaining int
}

func newLibrary(tools []jsontext.Value) *schemaLibrary {
	l := &schemaLibrary{by: map[string]map[document]jsontext.Value{}, remaining: MaxBundled}
	for _, of := range identified {
		l.by[of.name] = map[document]jsontext.Value{}
	}
	for _, tool := range tools {
		if !strings.Contains(string(tool), `"$id"`) {
			continue
		}
		for _, of := range identified {
			schema, _ := jsonedit.Get(tool, of.name)
			if id, ok := jsonedit.GetString(schema, "$id"); !ok || !isName(id) {
				continue
			}
			for id := range scanIDs(schema).ids {
				if _, known := l.by[of.name][id]; !known {
					l.by[of.name][id] = schema
				}
			}
		}
	}
	return l
}

// bundle returns the tool with the schemas embedded that its schemas refer to.
func (l *schemaLibrary) bundle(tool jsontext.Value) jsontext.Value {
	for _, of := range identified {
		if len(l.by[of.name]) == 0 {
			continue
		}
		if schema, ok := jsonedit.Get(tool, of.name); ok && strings.Contains(string(schema), `ef"`) {
			if whole := l.embed(schema, l.by[of.name]); len(whole) > len(schema) {
				tool, _ = jsonedit.Set(tool, whole, of.name) // A tool has the member.
			}
		}
	}
	return tool
}

// embed returns the schema with the referenced schemas embedded. It returns the schema unchanged
// if the bounds do not allow that, or if $defs has an entry of the same name.
func (l *schemaLibrary) embed(schema jsontext.Value,
	others map[document]jsontext.Value) jsontext.Value {
	own, whole, remaining := scanIDs(schema), schema, l.remaining
	for todo := own.refs; len(todo) > 0; todo = todo[1:] {
		other, ok := others[todo[0]]
		if !ok || own.ids[todo[0]] {
			continue
		}
		id, _ := jsonedit.GetString(other, "$id")
		if _, taken := jsonedit.Get(whole, "$defs", id); taken {
			return schema
		}
		var err error
		if whole, err = jsonedit.Set(whole, other, "$defs", id); err != nil {
			return schema
		}
		if remaining -= max(len(other), leastBundled); remaining < 0 || len(whole) > MaxSchema {
			l.remaining = max(0, remaining)
			return schema
		}
		of := scanIDs(other)
		maps.Copy(own.ids, of.ids)
		todo = append(todo, of.refs...)
	}
	l.remaining = remaining
	return whole
}
