package rewrite

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// A value that is no object, and the schema of such values, have no place in revisions from
// 2025-06-18 to 2025-11-25. The official SDKs of servers wrap both for clients of these as the
// member "result" of an object, and clients find the value there.

// wrapped is the object in which a value is passed on.
func wrapped(v jsontext.Value) jsontext.Value {
	return append(append(jsontext.Value(`{"result":`), v...), '}')
}

// Wraps reports whether a schema says that no value of it is an object. Of the values of a schema that
// allows objects and others nobody knows later which were wrapped: such schemas are left out.
func Wraps(schema jsontext.Value) bool {
	objects, others := allows(schema, maxSchemaDepth)
	return !objects && others
}

// wrappedSchema is the schema of wrapped values. What refers to the root of the schema, or to a part
// of it, refers to the same in its new place. Ok is false for one that is too deep for that.
func wrappedSchema(schema jsontext.Value) (jsontext.Value, bool) {
	inner, ok := schema, true
	if !rebased(schema) {
		inner, ok = moved(schema, maxSchemaDepth)
	}
	out := jsontext.Value(`{`)
	if dialect, has := splice.Get(schema, "$schema"); has { // which stands at the root only
		out = append(append(append(out, `"$schema":`...), dialect...), ',')
	}
	out = append(append(out, `"type":"object","properties":{"result":`...), inner...)
	return append(out, `},"required":["result"]}`...), ok
}

// rebased reports whether references in a schema start from an $id of its own.
func rebased(schema jsontext.Value) bool {
	id, ok := splice.GetString(schema, "$id")
	return ok && !strings.HasPrefix(id, "#")
}

// moved is a schema whose references lead to the member "result" of the new root.
func moved(schema jsontext.Value, depth int) (out jsontext.Value, ok bool) {
	ok = depth > 0
	if !ok {
		return schema, false
	}
	switch schema.Kind() {
	case '[':
		return splice.MapElements(schema, func(v jsontext.Value) (jsontext.Value, bool) {
			v, fits := moved(v, depth-1)
			ok = ok && fits
			return v, true
		}), ok
	case '{':
	default:
		return schema, true
	}
	return splice.MapMembers(schema, func(m splice.Member) (jsontext.Value, bool) {
		v, fits := movedMember(m, depth)
		ok = ok && fits
		return v, true
	}), ok
}

// movedMember is the value of a member of a schema.
func movedMember(m splice.Member, depth int) (v jsontext.Value, ok bool) {
	switch {
	case m.Is("$ref"), m.Is("$dynamicRef"):
		to, _ := splice.Unquote(m.Value)
		if to == "#" || strings.HasPrefix(to, "#/") {
			return splice.Quote("#/properties/result" + to[1:]), true
		}
		return m.Value, true
	case m.Is("const"), m.Is("enum"), m.Is("default"), m.Is("examples"): // values, not schemas
		return m.Value, true
	case m.Value.Kind() == '{' && (namesSchemas(m.Is) || m.Is("dependencies")):
		ok = true
		return splice.MapMembers(m.Value, func(named splice.Member) (jsontext.Value, bool) {
			if rebased(named.Value) {
				return named.Value, true
			}
			v, fits := moved(named.Value, depth-1)
			ok = ok && fits
			return v, true
		}), ok
	case m.Value.Kind() == '{' && rebased(m.Value):
		return m.Value, true
	}
	return moved(m.Value, depth-1)
}
