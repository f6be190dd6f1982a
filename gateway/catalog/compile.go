package catalog

import (
	"bytes"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// maxSchemaDepth bounds the depth of a schema. Schemas of published servers have less than twenty
// levels.
const maxSchemaDepth = 100

// keyword describes the values that a keyword of JSON Schema may have so that a validator can be
// compiled.
type keyword struct {
	// kinds has the first bytes of allowed values, as in jsontext.Kind; t stands for true and false.
	kinds string
	sub   subschemas
}

// subschemas say where a keyword's value contains schemas.
type subschemas uint8

const (
	noSchema  subschemas = iota
	oneSchema            // The value is a schema.
	// The elements of an array are schemas. Another value is a schema itself.
	listed
	byName      // The values of the members are schemas.
	byNameOrNot // The values of the members that are not arrays are schemas.
)

// keywords is the table of draft 7, which the validator of the TypeScript SDK knows. The SDK
// compiles the output schema of each tool when it lists tools, and fails the whole list when that
// is impossible.
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

	// These never compile. The first is of draft 4; the others need another validator or a format
	// for dates.
	"id": {}, "$async": {}, "formatMinimum": {}, "formatMaximum": {}, "formatExclusiveMinimum": {},
	"formatExclusiveMaximum": {},
}

// data are keywords whose values are data. Validators look for no schemas in them.
var data = []string{"const", "default", "enum"}

// anchored is the form of an anchor.
var anchored = regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9._]*$`)

// types are the values of the keyword type.
var types = []string{"string", "number", "integer", "boolean", "null", "object", "array"}

// Compiles reports whether the validators of the official SDKs can compile a schema, as far as
// that can be told: its keywords have values of their kinds, and its references and patterns are
// valid.
func Compiles(schema jsontext.Value) bool {
	c := compiler{}
	return c.schema(schema, location{base: &url.URL{}}) && c.referencesResolve()
}

// compiler checks one schema.
type compiler struct{ schemaNames }

// location is the position of a part of a schema.
type location struct {
	base *url.URL // the enclosing $id
	of   document // the same as a document
	path []string // relative to base
	deep int      // levels below the root
}

// below returns the location of a part below l.
func (l location) below(names ...string) location {
	l.path, l.deep = append(l.path[:len(l.path):len(l.path)], names...), l.deep+1
	return l
}

func (c *compiler) schema(raw jsontext.Value, at location) bool {
	switch {
	case raw.Kind() == 't' || raw.Kind() == 'f':
		return true
	case raw.Kind() != '{' || at.deep > maxSchemaDepth:
		return false
	}
	at, good := c.enter(raw, at)
	if !good {
		return false
	}
	typed, nullable := false, false
	for m := range jsonedit.Members(raw) {
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
		said, _ := jsonedit.Unquote(m.Value)
		switch name {
		case "type":
			typed, good = true, c.types(m.Value, said)
		case "nullable":
			nullable = true
		case "enum":
			good = jsonedit.Len(m.Value) > 0
		case "pattern":
			good = validPattern(said)
		case "patternProperties":
			for p := range jsonedit.Members(m.Value) {
				good = good && validPattern(p.Key())
			}
		case "$ref":
			good = c.refer(at, said)
		case "$anchor", "$dynamicAnchor":
			good = anchored.MatchString(said) && c.name(at, said)
		}
		if !good || !c.below(m.Value, row.sub, at, name) {
			return false
		}
	}
	return typed || !nullable
}

// mayName reports whether the value of an unknown keyword may name schemas. Validators look for
// names there too, and fail when a name is invalid.
func mayName(raw jsontext.Value) bool {
	return raw.Kind() == '{' &&
		(bytes.Contains(raw, []byte(`nchor"`)) || bytes.Contains(raw, []byte(`"$id"`)) ||
			bytes.Contains(raw, []byte(`\u00`)))
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
	for element := range jsonedit.Elements(raw) {
		if word, _ := jsonedit.Unquote(element); !one(word) {
			return false
		}
	}
	return true
}

// below checks the schemas in the value of a keyword.
func (c *compiler) below(raw jsontext.Value, sub subschemas, at location, keyword string) bool {
	switch {
	case sub == noSchema:
		return true
	case sub == listed && raw.Kind() == '[':
		i := 0
		for element := range jsonedit.Elements(raw) {
			if !c.schema(element, at.below(keyword, strconv.Itoa(i))) {
				return false
			}
			i++
		}
		return true
	case sub == oneSchema || sub == listed:
		return c.schema(raw, at.below(keyword))
	}
	for m := range jsonedit.Members(raw) {
		if sub == byNameOrNot && m.Value.Kind() == '[' {
			continue
		}
		if !c.schema(m.Value, at.below(keyword, m.Key())) {
			return false
		}
	}
	return true
}
