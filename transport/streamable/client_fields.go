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

// fields are those by which a POST of m is routed, in the revisions that have them
// (2026-07-28 §basic/transports/streamable-http). One that is too long is left out: its server
// will say that it misses it.
func (c *Client) fields(m jsonrpc.Message) []headers.Field {
	if m.Method != probe && !c.has(protocol.RoutingHeaders) {
		return nil
	}
	r := headers.Request{Method: m.Method, Params: m.Params}
	if m.Method == "tools/call" && c.mirrored != nil {
		name, _ := splice.GetString(m.Params, "name")
		r.Mirrored = c.mirrored(name)
	}
	fields, _ := r.Fields() // none, where there is an error
	if meta, err := protocol.ParseMeta(m.Params); m.Method == probe && err == nil {
		fields = append(fields, headers.Field{Name: "Mcp-Protocol-Version", Value: meta.Version})
	}
	return fields
}

// probe is of the revision that it names itself, whatever was negotiated.
const probe = "server/discover"

// header is what goes with the POST beside that of all: what it takes for an answer, and its
// fields.
func (o *outgoing) header() http.Header {
	if len(o.fields) == 0 {
		return postAccept
	}
	h := postAccept.Clone()
	for _, f := range o.fields {
		h[http.CanonicalHeaderKey(f.Name)] = []string{f.Value}
	}
	return h
}
