package streamable

import (
	"net/http"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// Mirror sets the function that returns the mirrored arguments of a tool, for the revisions that
// repeat these in header fields. It must be called before the first Send. Send then calls lookup
// with the name of a tool, and lookup returns nil for an unknown tool.
func (c *Client) Mirror(lookup func(tool string) []headers.Mirror) { c.mirrored = lookup }

// fields returns the routing header fields of a POST of m, in the revisions that have them
// (2026-07-28 §basic/transports/streamable-http). It omits a field that is too long: the server
// will report that it is missing.
func (c *Client) fields(m jsonrpc.Message) []headers.Field {
	if m.Method != probe && !c.has(protocol.RoutingHeaders) {
		return nil
	}
	r := headers.Request{Method: m.Method, Params: m.Params}
	if m.Method == "tools/call" && c.mirrored != nil {
		name, _ := jsonedit.GetString(m.Params, "name")
		r.Mirrored = c.mirrored(name)
	}
	fields, _ := r.Fields() // no fields after an error
	if meta, err := protocol.ParseMeta(m.Params); m.Method == probe && err == nil {
		fields = append(fields, headers.Field{Name: "Mcp-Protocol-Version", Value: meta.Version})
	}
	return fields
}

// probe is the method of a request that states its own revision, whatever was negotiated.
const probe = "server/discover"

// header returns the POST's own header fields: the accepted types of the answer, and o.fields.
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
