package rewrite

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// tool rewrites a tool. A revision that has no title of tools may have one among their annotations.
func (r *rewriter) tool(from, to int) {
	if r.to.Has(protocol.Titles) || !r.to.Has(protocol.ToolAnnotations) {
		r.members(from, tool)
		return
	}
	title, _ := splice.Get(r.Value(from, to), "title")
	wanted := title.Kind() == '"'
	w := r.Walk(from)
	for r.Next(&w) {
		if at, to := w.Span(); wanted && w.Is("annotations") {
			wanted = false
			if r.at(at) == '{' {
				r.entitle(at, title)
				continue
			}
			r.Cut(at, to) // null, as some servers have it
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

// entitle adds the title to annotations that have none.
func (r *rewriter) entitle(from int, title jsontext.Value) {
	w := r.Walk(from)
	has := false
	for r.Next(&w) {
		has = has || w.Is("title")
	}
	if !has {
		r.Add(&w, "title", title)
	}
}

// objectSchema reports whether a schema is one that revisions without full schemas allow: of an object, whose properties are schemas.
func objectSchema(schema jsontext.Value) bool {
	typed := false
	for m := range splice.Members(schema) {
		switch {
		case m.Is("type"):
			typed = splice.Equal(m.Value, "object")
		case m.Is("properties"):
			if m.Value.Kind() != '{' {
				return false
			}
			for p := range splice.Members(m.Value) {
				if k := p.Value.Kind(); k != '{' && k != 't' && k != 'f' {
					return false
				}
			}
		}
	}
	return typed
}

// output rewrites the schema of results that does not say that they are objects. One that allows
// objects alone says so now, one that allows none is wrapped. Any other has no form, and is left out.
func (r *rewriter) output(w *splice.Walk) {
	objects, others := allows(w.Value(), maxSchemaDepth)
	switch {
	case objects && !others:
		if schema, err := splice.Set(w.Value(), jsontext.Value(`"object"`), "type"); err == nil && objectSchema(schema) {
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

// schemas writes the properties of a schema as objects where a revision wants no others: true is {}, false is {"not":{}}.
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

// mirror is the annotation by which a schema asks for a header (2026-07-28 §basic/transports).
const mirror = "x-mcp-header"

// maxSchemaDepth bounds how deep such annotations are looked for, since each level is read anew. Real schemas are below ten deep.
const maxSchemaDepth = 32

// unmirror takes the annotation away wherever it stands in a schema: from a server that does not know it, it is not an annotation, and a
// client might refuse the tool for it.
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

// named reports whether the members of the current member's value are schemas, under names of the author's own.
func named(w *splice.Walk) bool { return namesSchemas(w.Is) }

// namesSchemas is named for a member whose name is told by is.
func namesSchemas(is func(name string) bool) bool {
	return is("properties") || is("patternProperties") || is("$defs") || is("definitions") || is("dependentSchemas")
}
