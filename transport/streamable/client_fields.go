package streamable

import (
	"net/http"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// Mirror tells what to look up a tool's mirrored arguments by, for the revisions that repeat them in header fields. It is called before
// the first Send; lookup is then called by Send, with the name of a tool, and returns nil for one that is not known.
func (c *Client) Mirror(lookup func(tool string) []headers.Mirror) { c.mirrored = lookup }

// header is what goes with a POST of m: what it takes for an answer, and in the revisions that have them the fields by which it is routed
// (2026-07-28 §basic/transports/streamable-http). A field that is too long is left out: its server will say that it misses it. A probe is of
// the revision that it names itself, whatever was negotiated.
func (c *Client) header(m jsonrpc.Message) http.Header {
	probe := m.Method == "server/discover"
	if !probe && !c.has(protocol.RoutingHeaders) {
		return postAccept
	}
	r := headers.Request{Method: m.Method, Params: m.Params}
	if m.Method == "tools/call" && c.mirrored != nil {
		name, _ := splice.GetString(m.Params, "name")
		r.Mirrored = c.mirrored(name)
	}
	h := postAccept.Clone()
	if meta, err := protocol.ParseMeta(m.Params); probe && err == nil {
		h["Mcp-Protocol-Version"] = []string{meta.Version}
	}
	fields, err := r.Fields()
	if err != nil {
		return h
	}
	for _, f := range fields {
		h[http.CanonicalHeaderKey(f.Name)] = []string{f.Value}
	}
	return h
}
