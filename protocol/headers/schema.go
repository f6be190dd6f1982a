package headers

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// annotation is the keyword by which a tool's schema asks for a header field for an argument.
const annotation = "x-mcp-header"

// Mirror is one argument that the tool asks to copy into a header field.
type Mirror struct {
	Path []string // names of nested properties, starting below arguments
	Name string   // the rest of the field name after Param, as the tool spells it
	Type string   // "string", "integer" or "boolean"
}

// types lists the types that can be mirrored. It excludes number, whose text differs between
// implementations.
var types = []string{"string", "integer", "boolean"}

// schemaPlace says where the value of a keyword contains schemas.
type schemaPlace uint8

const (
	itself schemaPlace = iota + 1 // the value is a schema or an array of schemas
	values                        // the members of the value are schemas
)

// places lists the keywords of JSON Schema 2020-12 and its predecessors that contain schemas. Other
// keywords, for example default or enum, contain data.
var places = map[string]schemaPlace{
	"$defs":                 values,
	"additionalItems":       itself,
	"additionalProperties":  itself,
	"allOf":                 itself,
	"anyOf":                 itself,
	"contains":              itself,
	"contentSchema":         itself,
	"definitions":           values,
	"dependencies":          values,
	"dependentSchemas":      values,
	"else":                  itself,
	"if":                    itself,
	"items":                 itself,
	"not":                   itself,
	"oneOf":                 itself,
	"patternProperties":     values,
	"prefixItems":           itself,
	"properties":            values,
	"propertyNames":         itself,
	"then":                  itself,
	"unevaluatedItems":      itself,
	"unevaluatedProperties": itself,
}

// Mirrors lists the arguments that a tool's inputSchema asks to mirror, in its order. The error
// names the rule that an annotation violates (2026-07-28 §basic/transports/streamable-http). An
// HTTP client must then leave out the whole tool.
func Mirrors(inputSchema jsontext.Value) ([]Mirror, error) {
	if !annotated(inputSchema) {
		return nil, nil
	}
	var w walker
	if err := w.schema(inputSchema, nil, true, 0); err != nil {
		return nil, err
	}
	return w.found, nil
}

// annotated is a quick test, because most schemas have no annotation. An escape in the schema could
// spell an annotation, so it leads to the full search.
func annotated(schema jsontext.Value) bool {
	return bytes.Contains(schema, []byte(annotation)) || bytes.IndexByte(schema, '\\') >= 0
}

type walker struct{ found []Mirror }

// schema searches for annotations in the schema of the property at the path. Plain says that the
// path leads only through properties.
func (w *walker) schema(schema jsontext.Value, path []string, plain bool, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("the schema is deeper than %d", MaxDepth)
	}
	for m := range jsonedit.Members(schema) {
		if m.Is(annotation) {
			if err := w.annotation(schema, m.Value, path, plain); err != nil {
				return err
			}
			continue
		}
		keyword := m.Key()
		where := places[keyword]
		if where == 0 {
			continue
		}
		for name, s := range schemas(m.Value, where) {
			inner := slices.Concat(path, []string{name})
			if err := w.schema(s, inner, plain && keyword == "properties", depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// schemas iterates over the schemas in the value of a keyword.
func schemas(v jsontext.Value, where schemaPlace) func(yield func(string, jsontext.Value) bool) {
	return func(yield func(string, jsontext.Value) bool) {
		switch {
		case where == values:
			for m := range jsonedit.Members(v) {
				if !yield(m.Key(), m.Value) {
					return
				}
			}
		case v.Kind() == '[':
			for e := range jsonedit.Elements(v) {
				if !yield("", e) {
					return
				}
			}
		default:
			yield("", v)
		}
	}
}

// annotation checks one annotation against the rules and records it.
func (w *walker) annotation(schema, value jsontext.Value, path []string, plain bool) error {
	at := strings.Join(path, ".")
	name, ok := jsonedit.Unquote(value)
	kind, _ := jsonedit.GetString(schema, "type")
	switch {
	case !ok || !token(name):
		return fmt.Errorf("%s of %q is not a token: %.64q", annotation, at, value)
	case !plain || len(path) == 0:
		return fmt.Errorf("%s %q is at a place that is not reached through properties only",
			annotation, name)
	case !slices.Contains(types, kind):
		return fmt.Errorf("%s %q is for a string, integer or boolean, and %q is none of them",
			annotation, name, at)
	case slices.ContainsFunc(w.found, func(m Mirror) bool { return strings.EqualFold(m.Name, name) }):
		return fmt.Errorf("%s %q is there twice", annotation, name)
	case len(w.found) == MaxParams:
		return fmt.Errorf("more than %d arguments have %s", MaxParams, annotation)
	}
	w.found = append(w.found, Mirror{path, name, kind})
	return nil
}

// token reports whether name is a token of RFC 9110 §5.6.2, as the rest of a field name after
// Mcp-Param- must be.
func token(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return name != ""
}
