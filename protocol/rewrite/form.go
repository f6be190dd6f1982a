package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// elicitation rewrites the params of an elicitation, which is a form or a page to visit.
func (p *plan) elicitation(params jsontext.Value, id string) (jsontext.Value, string) {
	mode, ok := jsonedit.Get(params, "mode")
	named := jsonedit.Equal(mode, "url") && p.to.Has(protocol.ElicitationIDs)
	switch {
	case !p.to.Has(protocol.URLElicitation) && ok && !jsonedit.Equal(mode, "form"):
		return nil, "the user is not asked by a form"
	case named && id == "":
		given, _ := jsonedit.GetString(params, "elicitationId")
		if given == "" {
			return nil, "the elicitation has no id"
		}
		id = given // the caller has put it there
	}
	r := newRewriter(p, params)
	w := r.Walk(r.Start())
	for r.Next(&w) {
		if named && w.Is("elicitationId") {
			named = false
			r.Set(&w, jsonedit.Quote(id))
			continue
		}
		r.member(&w, elicitParams)
	}
	if named {
		r.Add(&w, "elicitationId", jsonedit.Quote(id))
	}
	return r.Result(), r.reason
}

// fields rewrites the fields of a form.
func (r *rewriter) fields(from int) {
	for w := r.Walk(from); r.Next(&w); {
		from, to := w.Span()
		r.value(from, to, formField)
	}
}

// question rewrites one field of a form for a revision without RichForms. Titled choices become
// enum and enumNames. Defaults are removed, except those of booleans. A field with several values
// cannot be expressed.
func (r *rewriter) question(from, to int) {
	q := r.Value(from, to)
	kind, _ := jsonedit.Get(q, "type")
	if jsonedit.Equal(kind, "array") {
		r.reason = "a field of the form takes several values"
		return
	}
	choices, titled := jsonedit.Get(q, "oneOf")
	for w := r.Walk(from); r.Next(&w); {
		switch {
		case w.Is("default"):
			if !jsonedit.Equal(kind, "boolean") {
				r.Drop(&w)
			}
		case titled && w.Is("oneOf"):
			r.CutItem(&w)
			r.choices(choices)
		case titled && (w.Is("enum") || w.Is("enumNames")):
			r.Drop(&w) // redundant: oneOf takes precedence
		}
	}
}

// choices writes titled choices as values, and their names in the same order.
func (r *rewriter) choices(list jsontext.Value) {
	r.Put(`"enum":[`)
	r.each(list, "const", "const")
	r.Put(`],"enumNames":[`)
	r.each(list, "title", "const")
	r.Put(`]`)
}

// each writes one string of each element: its member called name or, if that is absent, the member
// called instead.
func (r *rewriter) each(list jsontext.Value, name, instead string) {
	n := 0
	for e := range jsonedit.Elements(list) {
		v, ok := jsonedit.Get(e, name)
		if !ok {
			v, _ = jsonedit.Get(e, instead)
		}
		if n++; n > 1 {
			r.Put(",")
		}
		r.PutValue(text(v))
	}
}
