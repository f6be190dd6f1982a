package rewrite

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// Options holds the data that a result needs in addition to the server's message. The zero value is
// valid.
type Options struct {
	// Server is the origin of the result. A modern client receives it with every result. A legacy
	// client receives it in the result of initialize, if a modern server did not name itself. A
	// Server with an empty name is not sent.
	Server protocol.Implementation
	// TTL is the time for which a list or a resource of a legacy server is fresh. It is rounded down
	// to milliseconds, and a negative TTL counts as 0. The default 0 means that the result is not
	// fresh.
	TTL time.Duration
	// Public permits caching for other users. The default is private.
	Public bool
	// Versions lists the revisions to name to a modern client. The default is the client's own
	// revision.
	Versions []protocol.Version
}

// results gives the type of each method's result, and whether the result has cache hints
// (2026-07-28 §server/utilities/caching). The result of a method that is not listed has only
// common members.
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

// empty holds the methods whose result only reports success. Strict legacy clients accept no member
// in it, not even _meta.
var empty = map[string]bool{
	"ping": true, "logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true,
}

// Result translates a server's result for the client. From is the server's revision, to the
// client's. Between eras, the results of initialize and server/discover are translated into each
// other. The error is an *Inexpressible if the result has no form in the client's revision: it is
// not complete, it is a task, or the revision lacks the method.
func Result(method string, from, to protocol.Version, result jsontext.Value,
	o Options) (jsontext.Value, error) {
	p := planFor(from, to)
	switch {
	case p.from == p.to:
		return result, nil
	case p.isHandshake(method):
		return handshakeResult(p, result, o)
	}
	if reason := p.noFormReason(method, result); reason != "" {
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

// noFormReason returns the reason why the result has no form in the other revision; empty if it has
// one.
func (p *plan) noFormReason(method string, result jsontext.Value) string {
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
		kind, ok := jsonedit.Get(result, "resultType")
		if ok && !jsonedit.Equal(kind, "complete") {
			return "its resultType is " + shown(kind)
		}
	}
	if method == "tools/call" && p.from.Has(protocol.Tasks) {
		_, task := jsonedit.Get(result, "task")
		_, content := jsonedit.Get(result, "content")
		if task && !content {
			return "the result is a task"
		}
	}
	return ""
}

// result rewrites a result with its common members.
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
		case raise && r.raiseMember(&w, &e):
		case o == callResult:
			r.outcomeMember(&w, o, &out)
		case o == initializeResult && w.Is("protocolVersion"):
			r.Set(&w, jsonedit.Quote(r.plan.to.String()))
		default:
			r.member(&w, o)
		}
	}
	if o == callResult {
		r.outcomeEnd(&w, &out)
	}
	if raise {
		r.addCommonMembers(&w, &e)
	}
}

// envelope tracks the common members of a modern result: resultType, ttlMs, cacheScope, and the
// server's name in _meta.
type envelope struct {
	hints                   bool
	o                       Options
	kind, ttl, scope, stamp bool // already present
}

// raiseMember rewrites a member of a legacy result that has a meaning among the common members of a
// modern result. It reports whether the member has such a meaning.
func (r *rewriter) raiseMember(w *jsonedit.Walk, e *envelope) bool {
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
			r.setServerInfo(from, e)
			break
		}
		r.Cut(from, to) // some servers send null
		r.putServerInfo(e)
	default:
		return false
	}
	return true
}

// addCommonMembers adds the missing common members.
func (r *rewriter) addCommonMembers(w *jsonedit.Walk, e *envelope) {
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
		r.putServerInfo(e)
	}
}

// putServerInfo writes a new _meta.
func (r *rewriter) putServerInfo(e *envelope) {
	r.Put(`{"`, protocol.MetaServerInfo, `":`)
	r.PutValue(e.o.Server.Raw())
	r.Put(`}`)
}

// setServerInfo writes the origin of the result into an existing _meta.
func (r *rewriter) setServerInfo(from int, e *envelope) {
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

// fresh returns the value of ttlMs.
func (e *envelope) fresh() jsontext.Value {
	return strconv.AppendInt(nil, max(e.o.TTL, 0).Milliseconds(), 10)
}

// reach returns the value of cacheScope.
func (e *envelope) reach() jsontext.Value {
	if e.o.Public {
		return jsontext.Value(`"public"`)
	}
	return jsontext.Value(`"private"`)
}
