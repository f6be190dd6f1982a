package catalog

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/rewrite"
)

// reachable reports whether the one server of a transparent endpoint can be asked for its lists
// now, because the caller's connection is ready. While a session has no connection of its own, the
// connection that its lists come from counts.
func (s *server) reachable(caller Caller) bool {
	key := s.at(s.key(caller))
	if s.conns[key] == nil {
		key = s.at(ListKey(s.config, caller))
	}
	conn := s.conns[key]
	return conn != nil && conn.report.State == client.Ready
}

// KnowsList reports whether the known list of the one server can be given in place of the server's
// own answer. An empty list cannot, if the server has not declared the capability.
func (v *View) KnowsList(kind merge.Kind) bool {
	return v.short[kind].State.Own() && (len(v.own[kind]) > 0 || v.Servers[0].Facts.Offers(kind))
}

// MustAsk reports whether the one server must be asked for a list: if it can be asked now, or if
// the known list does not stand for its answer (see KnowsList). A list that does is preferred if a
// call has added an item at another instance, because the connection that would be asked lacks that
// item.
func (v *View) MustAsk(kind merge.Kind) bool {
	return v.Reachable && !v.added[kind] || !v.KnowsList(kind)
}

// ListUnknown reports whether it is unknown if the one server has the list: the server has not
// declared the list, and would have to be started to be asked.
func (v *View) ListUnknown(kind merge.Kind) bool {
	return !v.Reachable && len(v.Servers) > 0 && !v.Servers[0].Facts.Asks(kind)
}

// Page is a complete list of the one server under its own names, in the form for a client of the
// given revision.
func (v *View) Page(kind merge.Kind, version protocol.Version) (jsontext.Value, error) {
	facts := v.Servers[0].Facts
	items := []byte{'['}
	for i, item := range v.own[kind] {
		if i > 0 {
			items = append(items, ',')
		}
		items = append(items, rewrite.Item(rewritten[kind], facts.Version, version, item)...)
	}
	page, err := jsonedit.Set(nil, jsontext.Value("[]"), kind.String())
	// The members of a modern list other than its items come from the host, because the server's may
	// be outdated.
	if err == nil {
		page, err = rewrite.Result(kind.Method(), protocol.LatestLegacy, version, page, rewrite.Options{
			Server: facts.Stamp(),
		})
	}
	if err == nil {
		page, err = jsonedit.Set(page, append(items, ']'), kind.String())
	}
	if err == nil && kind == merge.Tools && version.Has(protocol.ToolExecution) {
		page = v.Tasked(v.Servers[0].Name)(page)
	}
	return page, err
}
