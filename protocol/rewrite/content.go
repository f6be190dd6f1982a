package rewrite

import (
	"hash/fnv"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// block rewrites a content block of a tool's result or of a prompt. A kind of content that the
// target revision lacks becomes one that all revisions have.
func (r *rewriter) block(from, to int) {
	kind, _ := jsonedit.Get(r.Value(from, to), "type")
	switch {
	case !r.to.Has(protocol.AudioContent) && jsonedit.Equal(kind, "audio"):
		r.audioToResource(from, to)
	case !r.to.Has(protocol.ResourceLinks) && jsonedit.Equal(kind, "resource_link"):
		r.linkToText(from, to)
	default:
		r.members(from, block)
	}
}

// audioToResource turns audio into an embedded resource with the same bytes. Its URI has the scheme
// cid, for a part of the message itself (RFC 2392).
func (r *rewriter) audioToResource(from, to int) {
	b := r.Value(from, to)
	data, _ := jsonedit.Get(b, "data")
	kind, _ := jsonedit.Get(b, "mimeType")
	r.Cut(from, to)
	r.Put(`{"type":"resource","resource":{"uri":"cid:`, digest(data), `@audio"`)
	if kind.Kind() == '"' {
		r.Put(`,"mimeType":`)
		r.PutValue(kind)
	}
	r.Put(`,"blob":`)
	r.PutValue(text(data))
	r.Put(`}`)
	r.annotated(b)
}

// linkToText turns a resource link into text: the name and the URI, and the description on a second
// line. It does not read the linked resource.
func (r *rewriter) linkToText(from, to int) {
	b := r.Value(from, to)
	name, _ := jsonedit.Get(b, "name")
	uri, _ := jsonedit.Get(b, "uri")
	about, _ := jsonedit.Get(b, "description")
	r.Cut(from, to)
	r.Put(`{"type":"text","text":"`)
	r.PutValue(inner(name))
	r.Put(`: `)
	r.PutValue(inner(uri))
	if about.Kind() == '"' {
		r.Put(`\n`)
		r.PutValue(inner(about))
	}
	r.Put(`"`)
	r.annotated(b)
}

// annotated completes a new block with the annotations of the original block.
func (r *rewriter) annotated(b jsontext.Value) {
	if a, ok := jsonedit.Get(b, "annotations"); ok {
		a, _ = rewriteValue(r.plan, a, annotations)
		r.Put(`,"annotations":`)
		r.PutValue(a)
	}
	r.Put(`}`)
}

// text returns v if v is a string, and an empty string otherwise.
func text(v jsontext.Value) jsontext.Value {
	if v.Kind() != '"' {
		return jsontext.Value(`""`)
	}
	return v
}

// inner returns a string without its quotes.
func inner(v jsontext.Value) jsontext.Value {
	v = text(v)
	return v[1 : len(v)-1]
}

// digest distinguishes the audio blocks of one message.
func digest(data jsontext.Value) string {
	h := fnv.New64a()
	_, _ = h.Write(data)
	return strconv.FormatUint(h.Sum64(), 16)
}

// outcome describes the result of a tool: its content blocks, and its structured value.
type outcome struct {
	value   jsontext.Value // structuredContent; empty for none
	asText  bool           // the value has no form in the target revision: a text block carries it
	wraps   bool           // the value is also sent as a member of an object
	content bool           // the result has content
}

// outcome inspects a tool's result before it is rewritten.
func (r *rewriter) outcome(from, to int) outcome {
	v, ok := jsonedit.Get(r.Value(from, to), "structuredContent")
	if !ok {
		return outcome{}
	}
	wraps := !r.to.Has(protocol.AnyStructuredContent) && v.Kind() != '{'
	return outcome{
		value: v, asText: wraps || !r.to.Has(protocol.StructuredContent),
		wraps: wraps && r.to.Has(protocol.StructuredContent),
	}
}

// outcomeMember rewrites the current member of a tool's result. A structured value that the target
// revision does not permit is wrapped in an object, or removed if the revision has no
// structuredContent. Its JSON is added as a text block, unless the result has a text block: servers
// put the JSON there themselves (2025-06-18 §server/tools).
func (r *rewriter) outcomeMember(w *jsonedit.Walk, o object, out *outcome) {
	switch {
	case w.Is("structuredContent"):
		switch {
		case out.wraps:
			r.Set(w, wrapped(w.Value()))
		case out.asText:
			r.Drop(w)
		}
	case w.Is("content"):
		out.content = true
		from, to := w.Span()
		if r.at(from) == '[' {
			r.blocks(from, out)
			return
		}
		r.Cut(from, to) // some servers send null
		r.putContent(out)
	default:
		r.member(w, o)
	}
}

func (r *rewriter) blocks(from int, out *outcome) {
	if !out.asText && !r.active[block] {
		return
	}
	w := r.Walk(from)
	told := false
	for r.Next(&w) {
		if out.asText && !told {
			kind, _ := jsonedit.Get(w.Value(), "type")
			told = jsonedit.Equal(kind, "text")
		}
		if from, to := w.Span(); r.active[block] && r.at(from) == '{' {
			r.block(from, to)
		}
	}
	if out.asText && !told && r.Append(&w) {
		r.putText(out.value)
	}
}

// outcomeEnd adds the member content, which a result must have.
func (r *rewriter) outcomeEnd(w *jsonedit.Walk, out *outcome) {
	if out.content {
		return
	}
	r.Add(w, "content", nil)
	r.putContent(out)
}

// putContent writes the content of a result that has none.
func (r *rewriter) putContent(out *outcome) {
	r.Put("[")
	if len(out.value) > 0 {
		r.putText(out.value)
	}
	r.Put("]")
}

// putText writes a text block with the JSON of a value.
func (r *rewriter) putText(v jsontext.Value) {
	r.Put(`{"type":"text","text":`)
	r.PutValue(jsonedit.Quote(string(v)))
	r.Put(`}`)
}
