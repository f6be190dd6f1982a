package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// allows reports whether values of a schema may be objects, and whether they may be others, as far
// as its root says. References are not followed. A schema of no type that speaks of properties is
// taken for one of objects, and a composition for what its parts are, as the TypeScript SDK of
// servers does.
func allows(schema jsontext.Value, depth int) (objects, others bool) {
	if schema.Kind() != '{' || depth == 0 {
		return true, true
	}
	objects, others = true, true
	typed, speaks := false, false
	narrow := func(o, r bool) { objects, others = objects && o, others && r }
	for m := range splice.Members(schema) {
		switch {
		case m.Is("type"):
			typed = true
			narrow(typeAllows(m.Value))
		case m.Is("const"):
			narrow(m.Value.Kind() == '{', m.Value.Kind() != '{')
		case m.Is("enum") && m.Value.Kind() == '[':
			narrow(anyOf(m.Value, func(v jsontext.Value) (bool, bool) { return v.Kind() == '{', v.Kind() != '{' }))
		case (m.Is("anyOf") || m.Is("oneOf")) && m.Value.Kind() == '[':
			narrow(anyOf(m.Value, func(v jsontext.Value) (bool, bool) { return allows(v, depth-1) }))
		case m.Is("allOf") && m.Value.Kind() == '[':
			for part := range splice.Elements(m.Value) {
				narrow(allows(part, depth-1))
			}
		case m.Is("properties"), m.Is("patternProperties"), m.Is("additionalProperties"), m.Is("required"):
			speaks = true
		}
	}
	if speaks && !typed && objects {
		others = false
	}
	return objects, others
}

// typeAllows is what a type allows: one, or an array of them.
func typeAllows(is jsontext.Value) (objects, others bool) {
	if is.Kind() != '[' {
		return splice.Equal(is, "object"), is.Kind() == '"' && !splice.Equal(is, "object")
	}
	return anyOf(is, typeAllows)
}

// anyOf is what elements of a list allow together. An empty list is no schema.
func anyOf(list jsontext.Value, allows func(jsontext.Value) (objects, others bool)) (objects, others bool) {
	for v := range splice.Elements(list) {
		o, r := allows(v)
		objects, others = objects || o, others || r
	}
	return objects, others
}
