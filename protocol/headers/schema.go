package headers

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// annotation is the keyword of a schema by which a tool asks for an argument to be mirrored.
const annotation = "x-mcp-header"

// Mirror is one argument that a tool wants mirrored.
type Mirror struct {
	Path []string // names of nested properties, from arguments down
	Name string   // what completes Param, as the tool spells it
	Type string   // string, integer or boolean
}

// types are those that can be mirrored. A number is none of them: its text is not the same everywhere.
var types = []string{"string", "integer", "boolean"}

// place says where the schemas are within the value of a keyword.
type place uint8

const (
	itself place = iota + 1 // the value is one, or an array of them
	values                  // the members of the value are
)

// places are the keywords of JSON Schema 2020-12, and of its predecessors, under which there are schemas. Anything else, as default or
// enum, holds data.
var places = map[string]place{
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

// Mirrors lists what the inputSchema of a tool wants mirrored, in its order. An error says which of the five rules an annotation breaks
// (2026-07-28 §basic/transports/streamable-http); an HTTP client must then leave the whole tool out.
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

// annotated is a quick look: most schemas have no annotation. One whose name is written with escapes is looked for in full.
func annotated(schema jsontext.Value) bool {
	return bytes.Contains(schema, []byte(annotation)) || bytes.IndexByte(schema, '\\') >= 0
}

type walker struct{ found []Mirror }

// schema looks for annotations in the schema of the property at the path. Plain means that only properties led there.
func (w *walker) schema(schema jsontext.Value, path []string, plain bool, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("the schema is deeper than %d", MaxDepth)
	}
	for m := range splice.Members(schema) {
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

// schemas goes through those in the value of a keyword.
func schemas(v jsontext.Value, where place) func(yield func(string, jsontext.Value) bool) {
	return func(yield func(string, jsontext.Value) bool) {
		switch {
		case where == values:
			for m := range splice.Members(v) {
				if !yield(m.Key(), m.Value) {
					return
				}
			}
		case v.Kind() == '[':
			for e := range splice.Elements(v) {
				if !yield("", e) {
					return
				}
			}
		default:
			yield("", v)
		}
	}
}

// annotation checks one against the rules and notes it.
func (w *walker) annotation(schema, value jsontext.Value, path []string, plain bool) error {
	at := strings.Join(path, ".")
	name, ok := splice.Unquote(value)
	kind, _ := splice.GetString(schema, "type")
	switch {
	case !ok || !token(name):
		return fmt.Errorf("%s of %q is not a token: %.64q", annotation, at, value)
	case !plain || len(path) == 0:
		return fmt.Errorf("%s %q stands where not only properties lead", annotation, name)
	case !slices.Contains(types, kind):
		return fmt.Errorf("%s %q is for a string, integer or boolean, and %q is none", annotation, name, at)
	case slices.ContainsFunc(w.found, func(m Mirror) bool { return strings.EqualFold(m.Name, name) }):
		return fmt.Errorf("%s %q is there twice", annotation, name)
	case len(w.found) == MaxParams:
		return fmt.Errorf("more than %d arguments have %s", MaxParams, annotation)
	}
	w.found = append(w.found, Mirror{path, name, kind})
	return nil
}

// token reports that name is one of RFC 9110 §5.6.2, which what follows Mcp-Param- must be.
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
