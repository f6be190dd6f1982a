package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// allows reports whether a schema permits objects, and whether it permits other values, as far as
// its root shows. It does not follow references. A schema without a type that mentions properties
// counts as one of objects. anyOf and oneOf permit what any part permits, allOf what all parts
// permit. The TypeScript SDK for servers uses the same rules.
func allows(schema jsontext.Value, depth int) (objects, others bool) {
	if schema.Kind() != '{' || depth == 0 {
		return true, true
	}
	objects, others = true, true
	typed, speaks := false, false
	narrow := func(o, r bool) { objects, others = objects && o, others && r }
	for m := range jsonedit.Members(schema) {
		switch {
		case m.Is("type"):
			typed = true
			narrow(typeAllows(m.Value))
		case m.Is("const"):
			narrow(m.Value.Kind() == '{', m.Value.Kind() != '{')
		case m.Is("enum") && m.Value.Kind() == '[':
			narrow(anyOf(m.Value, func(v jsontext.Value) (bool, bool) {
				return v.Kind() == '{', v.Kind() != '{'
			}))
		case (m.Is("anyOf") || m.Is("oneOf")) && m.Value.Kind() == '[':
			narrow(anyOf(m.Value, func(v jsontext.Value) (bool, bool) { return allows(v, depth-1) }))
		case m.Is("allOf") && m.Value.Kind() == '[':
			for part := range jsonedit.Elements(m.Value) {
				narrow(allows(part, depth-1))
			}
		case m.Is("properties"), m.Is("patternProperties"), m.Is("additionalProperties"),
			m.Is("required"):
			speaks = true
		}
	}
	if speaks && !typed && objects {
		others = false
	}
	return objects, others
}

// typeAllows is allows for the member "type" of a schema: a string or an array of strings.
func typeAllows(is jsontext.Value) (objects, others bool) {
	if is.Kind() != '[' {
		return jsonedit.Equal(is, "object"), is.Kind() == '"' && !jsonedit.Equal(is, "object")
	}
	return anyOf(is, typeAllows)
}

// anyOf calls allows for each element of a list, and reports whether any element permits objects,
// and whether any permits other values. For an empty list, which is no valid schema, both are
// false.
func anyOf(list jsontext.Value,
	allows func(jsontext.Value) (objects, others bool)) (objects, others bool) {
	for v := range jsonedit.Elements(list) {
		o, r := allows(v)
		objects, others = objects || o, others || r
	}
	return objects, others
}
