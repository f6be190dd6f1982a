package rewrite

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// Options is what a result needs beyond what a server of another revision said. The zero value is right where nothing is known.
type Options struct {
	// Server is who the result is from, as a modern client is told with every result, and a legacy one at initialize when a modern server
	// has not said. Without a name, nothing is told.
	Server protocol.Implementation
	// TTL is how long a list or a resource from a legacy server is fresh; rounded down to milliseconds, and 0 below that.
	TTL time.Duration
	// Public allows the same to be kept for others than the caller.
	Public bool
	// Versions are the revisions to name to a modern client, by default the one that it speaks.
	Versions []protocol.Version
}

// results says of what type the result of a method is, and whether it carries cache hints where there are any (2026-07-28
// §server/utilities/caching). Methods that are not listed have nothing but the envelope.
var results = map[string]struct {
	of    object
	hints bool
}{
	"tools/list":               {listResult, true},
	"prompts/list":             {listResult, true},
	"resources/list":           {listResult, true},
	"resources/templates/list": {listResult, true},
	"resources/read":           {readResult, true},
	"tools/call":               {callResult, false},
	"prompts/get":              {promptResult, false},
	"initialize":               {initializeResult, false},
}

// empty are the methods whose result says nothing but that they were done. Strict legacy clients take no member in it, not even _meta.
var empty = map[string]bool{"ping": true, "logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true}

// Result is what a server of revision from answered, for a client of revision to. It fails with *Inexpressible when there is no such
// result there: one that is not complete, a task, or one of a method that the client's revision lacks. Results of initialize and
// server/discover become one another between the eras.
func Result(method string, from, to protocol.Version, result jsontext.Value, o Options) (jsontext.Value, error) {
	p := planFor(from, to)
	switch {
	case p.from == p.to:
		return result, nil
	case p.greets(method):
		return greeting(p, result, o)
	}
	if reason := p.untold(method, result); reason != "" {
		return nil, &Inexpressible{method, p.to, reason}
	}
	if empty[method] {
		return jsontext.Value("{}"), nil
	}
	row, ok := results[method]
	if !ok {
		row.of = otherResult
	}
	r := newRewriter(p, result)
	r.result(row.of, row.hints, o)
	return r.Result(), nil
}

// untold says why the result has no form in the other revision.
func (p *plan) untold(method string, result jsontext.Value) string {
	m, known := protocol.LookupMethod(method)
	switch {
	case known && !m.Allows(p.to, protocol.Client) && !m.Allows(p.to, protocol.Server):
		return "it has no such method"
	case known && m.Extension(p.to) != m.Extension(p.from):
		return "tasks of an extension are not those of the core"
	case result.Kind() != '{':
		return "the result is not an object"
	}
	if p.from.Has(protocol.ResultType) {
		kind, ok := splice.Get(result, "resultType")
		if ok && !splice.Equal(kind, "complete") {
			return "its resultType is " + shown(kind)
		}
	}
	if method == "tools/call" && p.from.Has(protocol.Tasks) {
		_, task := splice.Get(result, "task")
		_, content := splice.Get(result, "content")
		if task && !content {
			return "the result is a task"
		}
	}
	return ""
}

// result rewrites a result with its envelope.
func (r *rewriter) result(o object, hints bool, opt Options) {
	from, to := r.Start(), len(r.Raw())
	e := envelope{hints: hints, o: opt}
	var out outcome
	if o == callResult {
		out = r.outcome(from, to)
	}
	raise := !r.plan.from.Has(protocol.ResultType) && r.plan.to.Has(protocol.ResultType)
	w := r.Walk(from)
	for r.Next(&w) {
		switch {
		case raise && r.raised(&w, &e):
		case o == callResult:
			r.outcomeMember(&w, o, &out)
		case o == initializeResult && w.Is("protocolVersion"):
			r.Set(&w, splice.Quote(r.plan.to.String()))
		default:
			r.member(&w, o)
		}
	}
	if o == callResult {
		r.outcomeEnd(&w, &out)
	}
	if raise {
		r.raise(&w, &e)
	}
}

// envelope is what a modern result says about itself.
type envelope struct {
	hints                   bool
	o                       Options
	kind, ttl, scope, stamp bool // has been said
}

// raised gives a member of a legacy result the meaning that it has in the envelope of a modern one, and reports whether it has one.
func (r *rewriter) raised(w *splice.Walk, e *envelope) bool {
	switch {
	case w.Is("resultType"):
		r.Set(w, complete)
		e.kind = true
	case e.hints && w.Is("ttlMs"):
		r.Set(w, e.fresh())
		e.ttl = true
	case e.hints && w.Is("cacheScope"):
		r.Set(w, e.reach())
		e.scope = true
	case w.Is("_meta") && e.o.Server.Name != "":
		from, to := w.Span()
		e.stamp = true
		if r.at(from) == '{' {
			r.stamp(from, e)
			break
		}
		r.Cut(from, to) // null, as some servers have it
		r.stamped(e)
	default:
		return false
	}
	return true
}

// raise adds what the envelope still lacks.
func (r *rewriter) raise(w *splice.Walk, e *envelope) {
	if !e.kind {
		r.Add(w, "resultType", complete)
	}
	if e.hints && !e.ttl {
		r.Add(w, "ttlMs", e.fresh())
	}
	if e.hints && !e.scope {
		r.Add(w, "cacheScope", e.reach())
	}
	if !e.stamp && e.o.Server.Name != "" {
		r.Add(w, "_meta", nil)
		r.stamped(e)
	}
}

// stamped puts a new _meta.
func (r *rewriter) stamped(e *envelope) {
	r.Put(`{"`, protocol.MetaServerInfo, `":`)
	r.PutValue(e.o.Server.Raw())
	r.Put(`}`)
}

// stamp says within _meta who the result is from.
func (r *rewriter) stamp(from int, e *envelope) {
	said := false
	w := r.Walk(from)
	for r.Next(&w) {
		if w.Is(protocol.MetaServerInfo) {
			said = true
			r.Set(&w, e.o.Server.Raw())
			continue
		}
		r.member(&w, meta)
	}
	if !said {
		r.Add(&w, protocol.MetaServerInfo, e.o.Server.Raw())
	}
}

var complete = jsontext.Value(`"complete"`)

func (e *envelope) fresh() jsontext.Value {
	return strconv.AppendInt(nil, max(e.o.TTL, 0).Milliseconds(), 10)
}

func (e *envelope) reach() jsontext.Value {
	if e.o.Public {
		return jsontext.Value(`"public"`)
	}
	return jsontext.Value(`"private"`)
}
