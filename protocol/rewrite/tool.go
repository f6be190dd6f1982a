package rewrite

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// tool rewrites a tool. In a revision without a title for tools, the title moves to the tool's
// annotations, if the revision has these.
func (r *rewriter) tool(from, to int) {
	if r.to.Has(protocol.Titles) || !r.to.Has(protocol.ToolAnnotations) {
		r.members(from, tool)
		return
	}
	title, _ := jsonedit.Get(r.Value(from, to), "title")
	wanted := title.Kind() == '"'
	w := r.Walk(from)
	for r.Next(&w) {
		if at, to := w.Span(); wanted && w.Is("annotations") {
			wanted = false
			if r.at(at) == '{' {
				r.addTitle(at, title)
				continue
			}
			r.Cut(at, to) // some servers send null
			r.titled(title)
			continue
		}
		r.member(&w, tool)
	}
	if wanted {
		r.Add(&w, "annotations", nil)
		r.titled(title)
	}
}

func (r *rewriter) titled(title jsontext.Value) {
	r.Put(`{"title":`)
	r.PutValue(title)
	r.Put("}")
}

// addTitle adds the title to annotations without one.
func (r *rewriter) addTitle(from int, title jsontext.Value) {
	w := r.Walk(from)
	has := false
	for r.Next(&w) {
		has = has || w.Is("title")
	}
	if !has {
		r.Add(&w, "title", title)
	}
}

// objectSchema reports whether a schema is valid in revisions without FullSchemas: its type is
// object, and its properties are schemas.
func objectSchema(schema jsontext.Value) bool {
	typed := false
	for m := range jsonedit.Members(schema) {
		switch {
		case m.Is("type"):
			typed = jsonedit.Equal(m.Value, "object")
		case m.Is("properties"):
			if m.Value.Kind() != '{' {
				return false
			}
			for p := range jsonedit.Members(m.Value) {
				if k := p.Value.Kind(); k != '{' && k != 't' && k != 'f' {
					return false
				}
			}
		}
	}
	return typed
}

// output rewrites an output schema that does not declare an object. A schema that permits only
// objects gets that type. A schema that permits no objects is wrapped. Any other schema has no form
// in the target revision, and is removed.
func (r *rewriter) output(w *jsonedit.Walk) {
	objects, others := allows(w.Value(), maxSchemaDepth)
	switch {
	case objects && !others:
		if schema, err := jsonedit.Set(w.Value(), jsontext.Value(`"object"`), "type"); err == nil &&
			objectSchema(schema) {
			r.Set(w, schema)
			return
		}
	case others && !objects:
		if schema, ok := wrappedSchema(w.Value()); ok {
			r.Set(w, schema)
			return
		}
	}
	r.Drop(w)
}

// schemas writes the boolean property schemas as objects, for revisions that permit only objects:
// true becomes {}, and false becomes {"not":{}}.
func (r *rewriter) schemas(from int) {
	for w := r.Walk(from); r.Next(&w); {
		switch w.Value().Kind() {
		case 't':
			r.Set(&w, jsontext.Value("{}"))
		case 'f':
			r.Set(&w, jsontext.Value(`{"not":{}}`))
		}
	}
}

// mirror is the annotation by which a schema requests a header field (2026-07-28
// §basic/transports).
const mirror = "x-mcp-header"

// maxSchemaDepth bounds the depth to which schemas are searched and rewritten, because each level
// is read again. Real schemas have less than ten levels.
const maxSchemaDepth = 32

// unmirror removes the annotation from all parts of a schema. A server of a revision without the
// annotation did not mean it as one, and a client might refuse the tool for it.
func (r *rewriter) unmirror(from, to int) {
	raw := r.Value(from, to)
	if bytes.Contains(raw, []byte(mirror)) || bytes.Contains(raw, []byte(`\u`)) {
		r.unmirrorSchema(from, maxSchemaDepth)
	}
}

func (r *rewriter) unmirrorSchema(from, depth int) {
	if depth == 0 {
		return
	}
	for w := r.Walk(from); r.Next(&w); {
		at, _ := w.Span()
		switch {
		case r.at(from) == '[':
			r.unmirrorSchema(at, depth-1)
		case w.Is(mirror):
			r.Drop(&w)
		case w.Is("const"), w.Is("enum"), w.Is("default"), w.Is("examples"):
			// values, not schemas
		case r.at(at) == '{' && named(&w):
			for w := r.Walk(at); r.Next(&w); {
				at, _ := w.Span()
				r.unmirrorSchema(at, depth-1)
			}
		default:
			r.unmirrorSchema(at, depth-1)
		}
	}
}

// named reports whether the value of the current member maps names of the author's choice to
// schemas.
func named(w *jsonedit.Walk) bool { return namesSchemas(w.Is) }

// namesSchemas is named for a member without a walk: is compares the name of the member.
func namesSchemas(is func(name string) bool) bool {
	return is("properties") || is("patternProperties") || is("$defs") || is("definitions") ||
		is("dependentSchemas")
}
