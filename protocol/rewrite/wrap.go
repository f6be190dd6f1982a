package rewrite

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// The revisions from 2025-06-18 to 2025-11-25 permit only objects as structured values. For clients
// of these revisions, the official server SDKs wrap any other value, and its schema, as the member
// "result" of an object. Clients find the value there.

// wrapped returns the object that carries a value.
func wrapped(v jsontext.Value) jsontext.Value {
	return append(append(jsontext.Value(`{"result":`), v...), '}')
}

// Wraps reports whether a schema permits no object, so that its values are wrapped. If a schema
// permits both objects and other values, a client could not tell which values were wrapped. Such
// schemas are therefore removed.
func Wraps(schema jsontext.Value) bool {
	objects, others := allows(schema, maxSchemaDepth)
	return !objects && others
}

// wrappedSchema returns the schema of wrapped values. It adjusts references to the root of the
// schema, or to a part of it, to the new place. Ok is false if the schema is too deep.
func wrappedSchema(schema jsontext.Value) (jsontext.Value, bool) {
	inner, ok := schema, true
	if !rebased(schema) {
		inner, ok = rebaseRefs(schema, maxSchemaDepth)
	}
	out := jsontext.Value(`{`)
	if dialect, has := jsonedit.Get(schema, "$schema"); has { // permitted only at the root
		out = append(append(append(out, `"$schema":`...), dialect...), ',')
	}
	out = append(append(out, `"type":"object","properties":{"result":`...), inner...)
	return append(out, `},"required":["result"]}`...), ok
}

// rebased reports whether a schema has an $id of its own, which is the base of its references.
func rebased(schema jsontext.Value) bool {
	id, ok := jsonedit.GetString(schema, "$id")
	return ok && !strings.HasPrefix(id, "#")
}

// rebaseRefs returns a schema whose references lead to the member "result" of the new root.
func rebaseRefs(schema jsontext.Value, depth int) (out jsontext.Value, ok bool) {
	ok = depth > 0
	if !ok {
		return schema, false
	}
	switch schema.Kind() {
	case '[':
		return jsonedit.MapElements(schema, func(v jsontext.Value) (jsontext.Value, bool) {
			v, fits := rebaseRefs(v, depth-1)
			ok = ok && fits
			return v, true
		}), ok
	case '{':
	default:
		return schema, true
	}
	return jsonedit.MapMembers(schema, func(m jsonedit.Member) (jsontext.Value, bool) {
		v, fits := movedMember(m, depth)
		ok = ok && fits
		return v, true
	}), ok
}

// movedMember returns the value of a member of a schema, with adjusted references.
func movedMember(m jsonedit.Member, depth int) (v jsontext.Value, ok bool) {
	switch {
	case m.Is("$ref"), m.Is("$dynamicRef"):
		to, _ := jsonedit.Unquote(m.Value)
		if to == "#" || strings.HasPrefix(to, "#/") {
			return jsonedit.Quote("#/properties/result" + to[1:]), true
		}
		return m.Value, true
	case m.Is("const"), m.Is("enum"), m.Is("default"), m.Is("examples"): // values, not schemas
		return m.Value, true
	case m.Value.Kind() == '{' && (namesSchemas(m.Is) || m.Is("dependencies")):
		ok = true
		return jsonedit.MapMembers(m.Value, func(named jsonedit.Member) (jsontext.Value, bool) {
			if rebased(named.Value) {
				return named.Value, true
			}
			v, fits := rebaseRefs(named.Value, depth-1)
			ok = ok && fits
			return v, true
		}), ok
	case m.Value.Kind() == '{' && rebased(m.Value):
		return m.Value, true
	}
	return rebaseRefs(m.Value, depth-1)
}
