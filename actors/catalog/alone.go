package catalog

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/rewrite"
	"mcpd/protocol/splice"
)

// answers reports whether the server that a caller sees alone can be asked for its lists now: the
// caller's connection is ready. Before a session has one of its own, that is the one which its lists
// come from.
func (s *server) answers(caller Caller) bool {
	key := s.at(s.key(caller))
	if s.conns[key] == nil {
		key = s.at(ListKey(s.config, caller))
	}
	conn := s.conns[key]
	return conn != nil && conn.report.State == client.Ready
}

// Stands reports whether the list of the server that is seen alone, as it is known, can stand for
// the server's own answer. The empty list of a server that has not declared it says nothing.
func (v *View) Stands(kind merge.Kind) bool {
	return v.short[kind].State.Own() && (len(v.own[kind]) > 0 || v.Servers[0].Facts.Offers(kind))
}

// Asks reports whether the server that is seen alone is to be asked for a list. Where a call has added
// something to another instance of it, the connection that would be asked does not have the whole list.
func (v *View) Asks(kind merge.Kind) bool { return v.Answers && !v.added[kind] || !v.Stands(kind) }

// Unasked reports whether nobody knows if the server that is seen alone has the list: it has not
// declared it, and cannot be asked without being started.
func (v *View) Unasked(kind merge.Kind) bool {
	return !v.Answers && len(v.Servers) > 0 && !v.Servers[0].Facts.Asks(kind)
}

// Page is a list of the server that is seen alone, in full and under the server's own names, as the server would answer a client of a revision.
func (v *View) Page(kind merge.Kind, version protocol.Version) (jsontext.Value, error) {
	facts := v.Servers[0].Facts
	items := []byte{'['}
	for i, item := range v.own[kind] {
		if i > 0 {
			items = append(items, ',')
		}
		items = append(items, rewrite.Item(rewritten[kind], facts.Version, version, item)...)
	}
	page, err := splice.Set(nil, jsontext.Value("[]"), kind.String())
	if err == nil { // what a modern list says beside its items is the host's word: the server's was of its time
		page, err = rewrite.Result(kind.Method(), protocol.LatestLegacy, version, page, rewrite.Options{Server: facts.Stamp()})
	}
	if err == nil {
		page, err = splice.Set(page, append(items, ']'), kind.String())
	}
	if err == nil && kind == merge.Tools && version.Has(protocol.ToolExecution) {
		page = v.Tasked(v.Servers[0].Name)(page)
	}
	return page, err
}
