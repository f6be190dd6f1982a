package rewrite_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/mcptest"
	"mcpd/protocol"
)

type object = map[string]any

// published is the schema of one revision in three forms: unchanged, closed, and as data.
type published struct {
	*mcptest.Schemas
	closed *mcptest.Schemas
	defs   object
}

// load reads the schemas of all revisions. A closed schema refuses members that it does not name,
// so that no member of another revision passes. _meta, and the content of a tool's schema and
// arguments, stay open.
func load(t testing.TB) map[protocol.Version]published {
	all := map[protocol.Version]published{}
	for _, v := range protocol.Versions() {
		p := published{}
		p.Schemas = mcptest.LoadSchemas(t, v.String(), func(document map[string]any) {
			p.defs = definitions(document)
		})
		p.closed = mcptest.LoadSchemas(t, v.String(), func(document map[string]any) {
			for name, def := range definitions(document) {
				if !slices.Contains(open, name) && !strings.HasSuffix(name, "Error") &&
					!strings.HasSuffix(name, "MetaObject") {
					closeSchema(def.(object), request(name))
				}
			}
		})
		all[v] = p
	}
	return all
}

// open lists the types that other types extend.
var open = []string{"Result", "JSONObject", "Task", "NotificationParams"}

func definitions(document map[string]any) object {
	if defs, ok := document["$defs"].(object); ok {
		return defs
	}
	return document["definitions"].(object)
}

func request(name string) bool {
	return strings.HasSuffix(name, "Request") || strings.HasSuffix(name, "Notification")
}

// closeSchema lets a schema refuse members that it does not name. Revisions up to 2025-06-18 state
// only once, for all requests, that params may have _meta.
func closeSchema(schema object, request bool) {
	named, ok := schema["properties"].(object)
	if !ok || schema["allOf"] != nil {
		return
	}
	if params, ok := named["params"].(object); ok && request && params["properties"] != nil {
		params["properties"].(object)["_meta"] = object{}
	}
	if _, open := schema["additionalProperties"]; !open {
		schema["additionalProperties"] = false
		schema["patternProperties"] = object{"^open ": object{}} // members of no revision pass in all
	}
	if named["experimental"] != nil {
		named["extensions"] = object{} // capabilities of all revisions may have extensions (SEP-2133)
	}
	for name, v := range named {
		inner, ok := v.(object)
		switch {
		case !ok, name == "_meta", name == "inputSchema", name == "outputSchema", name == "capabilities":
			continue
		case inner["items"] != nil:
			inner, _ = inner["items"].(object)
		}
		closeSchema(inner, false)
	}
}

// samples returns values that cover a schema. Every member is present, every kind of a union
// occurs, and open values contain a number that no float can hold. The first sample contains as
// much as fits into one value.
func (p published) samples(schema object, name string) []any {
	if ref, ok := schema["$ref"].(string); ok {
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		switch name {
		case "JSONValue", "JSONArray":
			return []any{"any"}
		case "JSONObject":
			return []any{object{"any": "any"}}
		}
		return p.samples(p.defs[name].(object), name)
	}
	if c, ok := schema["const"]; ok {
		return []any{c}
	}
	if e, ok := schema["enum"].([]any); ok {
		return e[:1]
	}
	if one, ok := schema["anyOf"].([]any); ok {
		var list []any
		for _, s := range one {
			list = append(list, p.samples(s.(object), name)...)
		}
		return list
	}
	if all, ok := schema["allOf"].([]any); ok {
		merged := object{}
		for _, s := range all {
			if part, ok := p.samples(s.(object), name)[0].(object); ok {
				maps.Copy(merged, part)
			}
		}
		return []any{merged}
	}
	kind, _ := schema["type"].(string)
	if kinds, ok := schema["type"].([]any); ok {
		kind = kinds[0].(string)
	}
	switch kind {
	case "object":
		return p.objects(schema, name)
	case "array":
		items, _ := schema["items"].(object)
		return []any{p.samples(items, "")}
	case "string":
		switch schema["format"] {
		case "uri", "uri-template":
			return []any{"https://example.com/a"}
		case "byte":
			return []any{"AAEC"}
		}
		if name == "resultType" {
			return []any{"complete"}
		}
		return []any{"some " + name}
	case "integer":
		return []any{7}
	case "number":
		return []any{0.5}
	case "boolean":
		return []any{true}
	}
	return []any{jsontext.Value("12345678901234567890")}
}

func (p published) objects(schema object, name string) []any {
	named, _ := schema["properties"].(object)
	full := object{}
	var rest []object // the same object with another value of one member
	for _, name := range slices.Sorted(maps.Keys(named)) {
		values := p.samples(named[name].(object), name)
		full[name] = values[0]
		for _, other := range values[1:] {
			rest = append(rest, object{name: other})
		}
	}
	switch more, open := schema["additionalProperties"]; {
	case name == "structuredContent":
		full["value"] = jsontext.Value("12345678901234567890")
	case open && more != false:
		inner, _ := more.(object)
		for i, v := range p.samples(inner, "") {
			full["open "+string(rune('a'+i))] = v
		}
	}
	if name == "_meta" || strings.HasSuffix(name, "MetaObject") {
		delete(full, "open a")
		full["com.example/trace"] = "0af7"
	}
	list := []any{full}
	for _, other := range rest {
		o := maps.Clone(full)
		maps.Copy(o, other)
		list = append(list, o)
	}
	return list
}

// of returns the samples of a definition as JSON.
func (p published) of(t testing.TB, definition string) (list []jsontext.Value) {
	t.Helper()
	schema, ok := p.defs[definition].(object)
	if !ok {
		return nil
	}
	for _, v := range p.samples(schema, definition) {
		raw, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, raw)
	}
	return list
}

// The samples are valid under their schemas, so that the tests of the pairs start with valid input.
func TestSamplesAreValid(t *testing.T) {
	for v, p := range load(t) {
		for name := range p.defs {
			if strings.HasPrefix(name, "JSONRPC") || strings.HasSuffix(name, "Error") ||
				strings.HasPrefix(name, "JSON") {
				continue
			}
			for _, raw := range p.of(t, name) {
				if err := p.Check(t, name, raw); err != nil {
					t.Errorf("%v %s: %s: %v", v, name, raw, err)
				}
				if err := p.closed.Check(t, name, raw); err != nil {
					t.Errorf("%v closed %s: %s: %v", v, name, raw, err)
				}
			}
		}
	}
}
