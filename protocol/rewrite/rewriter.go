package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// rewriter is the translation of one message.
type rewriter struct {
	jsonedit.Edit
	*plan
	reason string // why the message has no form in the target revision; empty if it has one
}

func newRewriter(p *plan, raw jsontext.Value) rewriter {
	return rewriter{Edit: jsonedit.NewEdit(raw), plan: p}
}

// rewriteValue rewrites a text that consists of one value of type o.
func rewriteValue(p *plan, raw jsontext.Value, o object) (jsontext.Value, string) {
	if !p.active[o] || len(raw) == 0 {
		return raw, ""
	}
	r := newRewriter(p, raw)
	r.value(r.Start(), len(raw), o)
	return r.Result(), r.reason
}

// value rewrites an object of type o, or an array of such objects. Any other value is invalid, and
// stays.
func (r *rewriter) value(from, to int, o object) {
	switch r.at(from) {
	case '{':
		r.object(from, to, o)
	case '[':
		for w := r.Walk(from); r.Next(&w); {
			if from, to := w.Span(); r.at(from) == '{' {
				r.object(from, to, o)
			}
		}
	}
}

// at is the byte at an offset, or 0 beyond the end.
func (r *rewriter) at(i int) byte {
	if i >= len(r.Raw()) {
		return 0
	}
	return r.Raw()[i]
}

// object rewrites one object.
func (r *rewriter) object(from, to int, o object) {
	switch o {
	case tool:
		r.tool(from, to)
	case inputSchema:
		if r.unmirrored() {
			r.unmirror(from, to)
			return
		}
		r.members(from, o)
	case properties:
		r.schemas(from)
	case clientCapabilities, serverCapabilities:
		r.capabilities(from, to, o)
	case block:
		r.block(from, to)
	case conversationBlock:
		r.said(from, to)
	case fields:
		r.fields(from)
	case formField:
		r.question(from, to)
	default:
		r.members(from, o)
	}
}

// members applies the plan to all members of an object.
func (r *rewriter) members(from int, o object) {
	for w := r.Walk(from); r.Next(&w); {
		r.member(&w, o)
	}
}

// member applies the plan to the current member of an object of type o.
func (r *rewriter) member(w *jsonedit.Walk, o object) {
	s := r.step(w.Name(), o)
	if s == nil {
		return
	}
	from, to := w.Span()
	switch {
	case s.of == outputSchema && !s.drop && !r.to.Has(protocol.FullSchemas) &&
		!objectSchema(w.Value()):
		r.output(w)
	case s.drop, s.of == meta && r.emptied(from):
		r.Drop(w)
	default:
		if s.as != "" {
			r.Rename(w, s.as)
		}
		if s.of != plain {
			r.value(from, to, s.of)
		}
	}
}

// step returns the step of the plan for a member; nil for none.
func (r *rewriter) step(name jsontext.Value, o object) *step {
	steps := r.steps[o]
	for i := range steps {
		if jsonedit.Equal(name, steps[i].name) {
			return &steps[i]
		}
	}
	return nil
}

// emptied reports whether the plan removes all members of _meta. It is false for a _meta that is
// already empty.
func (r *rewriter) emptied(from int) bool {
	came := false
	for w := r.Walk(from); r.Next(&w); came = true {
		if s := r.step(w.Name(), meta); s == nil || !s.drop {
			return false
		}
	}
	return came
}

// capabilities removes the capabilities that the target revision does not know.
func (r *rewriter) capabilities(from, to int, o object) {
	raw := r.Value(from, to)
	shaped := raw
	switch o {
	case clientCapabilities:
		if c, err := protocol.ParseClientCapabilities(raw); err == nil {
			shaped = c.Shape(r.to).Raw()
		}
	case serverCapabilities:
		if c, err := protocol.ParseServerCapabilities(raw); err == nil {
			shaped = c.Shape(r.to).Raw()
		}
	}
	if len(shaped) != len(raw) {
		r.Replace(from, to, shaped)
	}
}
