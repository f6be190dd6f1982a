package demo

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rewrite"
)

// request is a request of the client with the properties of its sender. Those of a legacy sender
// come from initialize. Those of a modern sender come from the request's own _meta only.
type request struct {
	id      jsonrpc.ID
	method  string
	params  jsontext.Value
	version protocol.Version // 0 before initialize
	client  protocol.ClientCapabilities
	level   string // lowest level of the log lines that it wants; empty for none
}

// failure is the error in the form of the sender's revision.
func (r request) failure(err error) effect {
	return send{jsonrpc.Failure(r.id, protocol.Translate(err, r.version)), r.id}
}

// admit identifies the sender of a request. It refuses a method that the revision lacks, a method
// of a capability that was not declared, and a legacy request before initialize.
func (c *core) admit(m jsonrpc.Message) (request, error) {
	class, err := c.policy.Classify(protocol.Incoming{
		Method: m.Method, Params: m.Params, Session: c.session.version,
	})
	r := request{m.ID, m.Method, m.Params, class.Version, c.session.client, c.session.level}
	if err != nil {
		return r, err
	}
	if class.Era == protocol.Modern {
		r.client, r.level = class.Meta.Capabilities, class.Meta.LogLevel
	}
	row, known := methods[m.Method]
	gate := protocol.Gate{Version: r.version, Client: r.client, Server: offered(r.version)}
	switch {
	case !known:
		return r, protocol.MethodNotFound(m.Method)
	case !isObject(m.Params):
		return r, protocol.InvalidParams("params: not an object")
	case r.version == 0 && !row.early:
		return r, protocol.NotInitialized("connecting", "answer "+m.Method)
	case r.version == 0:
		return r, nil
	}
	return r, gate.Check(protocol.Client, m.Method, m.Params)
}

// hints is how long a result may be cached, for results for which 2026-07-28
// §server/utilities/caching requires it; server/discover has its own. No result depends on the
// sender. Constant results use the times of the specification's examples. Changes of a list are
// announced, so its time matters only to clients that do not listen. A resource may change with the
// next call.
var hints = map[string]time.Duration{
	"tools/list":               time.Minute,
	"prompts/list":             time.Minute,
	"resources/list":           5 * time.Minute,
	"resources/templates/list": 5 * time.Minute,
	"resources/read":           0,
}

// complete is the answer to a request, with the members that its revision requires of every result.
func (c *core) complete(r request, result jsontext.Value) effect {
	if r.version.Has(protocol.ResultType) {
		result = c.signed(set(result, `"complete"`, "resultType"))
	}
	if r.version != 0 && r.version.Era() == protocol.Legacy {
		if older, err := rewrite.Result(r.method, protocol.LatestLegacy, r.version, result,
			rewrite.Options{}); err == nil {
			result = older
		}
	}
	if ttl, ok := hints[r.method]; ok && r.version.Has(protocol.CacheHints) {
		result = set(result, encode(ttl.Milliseconds()), "ttlMs")
		result = set(result, `"public"`, "cacheScope")
	}
	return send{jsonrpc.Response(r.id, result), r.id}
}

// signed adds the name of this server to a modern result (2026-07-28 schema, ResultMetaObject).
func (c *core) signed(result jsontext.Value) jsontext.Value {
	return set(result, c.info.Raw(), "_meta", protocol.MetaServerInfo)
}

// set adds a member to raw, which is an object of this package.
func set[V string | jsontext.Value](raw jsontext.Value, value V, path ...string) jsontext.Value {
	changed, err := jsonedit.Set(raw, jsontext.Value(value), path...)
	if err != nil {
		panic(err) // the path leads through a value that is not an object
	}
	return changed
}
