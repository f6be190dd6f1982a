package catalog

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// maxSchemaDepth bounds how deep a schema is looked into. Those of published servers are below
// twenty.
const maxSchemaDepth = 100

// keyword is what the value of a keyword of JSON Schema has to be for a validator to be made of it.
type keyword struct {
	// the first bytes of values that it may have, as jsontext.Kind has them: true and false are t
	kinds string
	sub   subschemas
}

// subschemas say where a keyword's value has schemas.
type subschemas uint8

const (
	noSchema    subschemas = iota
	oneSchema              // it is one
	listed                 // its elements, where it is an array, else it is one
	byName                 // the values of its members
	byNameOrNot            // those of them that are no arrays
)

// keywords is the table of draft 7, which the TypeScript SDK's validator knows. It makes one of
// each tool's schema for results when it lists tools, and fails the whole list when it cannot.
var keywords = map[string]keyword{
	"type": {kinds: `"[`}, "nullable": {kinds: "t"}, "$ref": {kinds: `"`}, "$id": {kinds: `"`},
	"$anchor": {kinds: `"`}, "$dynamicAnchor": {kinds: `"`},
	"enum": {kinds: "["}, "required": {kinds: "["}, "format": {kinds: `"`}, "pattern": {kinds: `"`},
	"uniqueItems": {kinds: "t"},
	"maximum":     {kinds: "0"}, "minimum": {kinds: "0"}, "exclusiveMaximum": {kinds: "0"},
	"exclusiveMinimum": {kinds: "0"}, "multipleOf": {kinds: "0"},
	"maxLength": {kinds: "0"}, "minLength": {kinds: "0"}, "maxItems": {kinds: "0"},
	"minItems":      {kinds: "0"},
	"maxProperties": {kinds: "0"}, "minProperties": {kinds: "0"},
	"items": {"{[t", listed}, "additionalItems": {"{t", oneSchema}, "contains": {"{t", oneSchema},
	"propertyNames":        {"{t", oneSchema},
	"additionalProperties": {"{t", oneSchema}, "not": {"{t", oneSchema}, "if": {"{t", oneSchema},
	"then": {"{t", oneSchema}, "else": {"{t", oneSchema},
	"allOf": {"[", listed}, "anyOf": {"[", listed}, "oneOf": {"[", listed},
	"properties": {"{", byName}, "patternProperties": {"{", byName},
	"dependencies": {"{", byNameOrNot},
	"definitions":  {"{", byName}, "$defs": {"{", byName},

	// These never compile: the first is of draft 4, the others need another validator or a format
	// of dates beside them.
	"id": {}, "$async": {}, "formatMinimum": {}, "formatMaximum": {}, "formatExclusiveMinimum": {},
	"formatExclusiveMaximum": {},
}

// data are keywords whose values are data: validators look for no schemas in them.
var data = []string{"const", "default", "enum"}

// anchored is the form of an anchor.
var anchored = regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9._]*$`)

// types are the words that the keyword type may have.
var types = []string{"string", "number", "integer", "boolean", "null", "object", "array"}

// Compiles reports whether validators of the official SDKs can be made of a schema, as far as that
// can be told: its keywords have values of their kinds, and its references and patterns are good.
func Compiles(schema jsontext.Value) bool {
	c := compiler{root: schema, names: map[string]bool{"http://json-schema.org/draft-07/schema": true}}
	return c.schema(schema, 0) && c.refersWell()
}

// compiler passes over one schema.
type compiler struct {
	root  jsontext.Value
	names map[string]bool // by which parts of it can be referred to
	refs  []string
}

func (c *compiler) schema(raw jsontext.Value, depth int) bool {
	switch {
	case raw.Kind() == 't' || raw.Kind() == 'f':
		return true
	case raw.Kind() != '{' || depth > maxSchemaDepth:
		return false
	}
	typed, nullable, good := false, false, true
	for m := range splice.Members(raw) {
		name := m.Key()
		row, known := keywords[name]
		if !known {
			if mayName(m.Value) && !slices.Contains(data, name) {
				return false
			}
			continue
		}
		kind := m.Value.Kind()
		if kind == 'f' {
			kind = 't'
		}
		if strings.IndexByte(row.kinds, byte(kind)) < 0 {
			return false
		}
		said, _ := splice.Unquote(m.Value)
		switch name {
		case "type":
			typed, good = true, c.types(m.Value, said)
		case "nullable":
			nullable = true
		case "enum":
			good = splice.Len(m.Value) > 0
		case "pattern":
			good = goodPattern(said)
		case "patternProperties":
			for p := range splice.Members(m.Value) {
				good = good && goodPattern(p.Key())
			}
		case "$ref":
			c.refs = append(c.refs, said)
		case "$id":
			c.names[strings.TrimSuffix(said, "#")] = true
		case "$anchor", "$dynamicAnchor":
			good = anchored.MatchString(said)
			c.names["#"+said] = true
		}
		if !good || !c.below(m.Value, row.sub, depth+1) {
			return false
		}
	}
	return typed || !nullable
}

// mayName reports whether the value of an unknown keyword may name schemas. Validators look for
// names in there too, and fail when one is wrong.
func mayName(raw jsontext.Value) bool {
	return raw.Kind() == '{' && (bytes.Contains(raw, []byte(`nchor"`)) || bytes.Contains(raw, []byte(`"$id"`)) || bytes.Contains(raw, []byte(`\u00`)))
}

func (c *compiler) types(raw jsontext.Value, said string) bool {
	one := func(word string) bool {
		for _, t := range types {
			if t == word {
				return true
			}
		}
		return false
	}
	if raw.Kind() == '"' {
		return one(said)
	}
	for element := range splice.Elements(raw) {
		if word, _ := splice.Unquote(element); !one(word) {
			return false
		}
	}
	return true
}

// below passes over the schemas in the value of a keyword.
func (c *compiler) below(raw jsontext.Value, sub subschemas, depth int) bool {
	switch {
	case sub == noSchema:
		return true
	case sub == listed && raw.Kind() == '[':
		for element := range splice.Elements(raw) {
			if !c.schema(element, depth) {
				return false
			}
		}
		return true
	case sub == oneSchema || sub == listed:
		return c.schema(raw, depth)
	}
	for m := range splice.Members(raw) {
		if sub == byNameOrNot && m.Value.Kind() == '[' {
			continue
		}
		if !c.schema(m.Value, depth) {
			return false
		}
	}
	return true
}

// refersWell reports whether each reference leads somewhere: into the schema, or to a name in it.
func (c *compiler) refersWell() bool {
	var pointers [][]string
	for _, ref := range c.refs {
		base, fragment, _ := strings.Cut(ref, "#")
		switch {
		case c.names[ref] || c.names["#"+fragment] && base == "":
		case base != "" && !c.names[base]:
			return false
		case fragment != "" && base == "":
			path, ok := strings.CutPrefix(fragment, "/")
			if !ok {
				return false
			}
			pointers = append(pointers, strings.Split(unescaped.Replace(path), "/"))
		}
	}
	return lead(c.root, pointers)
}

// unescaped is a JSON pointer in a reference without the escapes of URIs that are seen there. Those of
// the pointer are left to part.
var unescaped = strings.NewReplacer("%25", "%", "%24", "$", "%3C", "<", "%3E", ">", "%20", " ", "%5B", "[", "%5D", "]")

// part is what one part of a JSON pointer means (RFC 6901 §4).
var part = strings.NewReplacer("~1", "/", "~0", "~")

// lead reports whether each path leads to a part of a value. It goes through the value once for all
// paths: a schema may have thousands of references.
func lead(raw jsontext.Value, paths [][]string) bool {
	by := map[string][][]string{} // what is left of them, by their first parts
	for _, path := range paths {
		if len(path) > 0 {
			first := part.Replace(path[0])
			by[first] = append(by[first], path[1:])
		}
	}
	if len(by) == 0 {
		return true
	}
	step := func(name string, value jsontext.Value) bool {
		rest, wanted := by[name]
		delete(by, name)
		return !wanted || lead(value, rest)
	}
	switch raw.Kind() {
	case '{':
		for m := range splice.Members(raw) {
			if !step(m.Key(), m.Value) {
				return false
			}
		}
	case '[':
		i := 0
		for element := range splice.Elements(raw) {
			if !step(strconv.Itoa(i), element) {
				return false
			}
			i++
		}
	}
	return len(by) == 0
}
