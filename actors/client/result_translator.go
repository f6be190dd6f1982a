package client

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/rewrite"
)

// resultTranslator is what must be known of a server to translate its results for clients. It is
// never changed.
type resultTranslator struct {
	server  string
	version protocol.Version
	stamp   protocol.Implementation
}

func (c *Connection) resultTranslator() *resultTranslator {
	return &resultTranslator{server: c.o.Server, version: c.facts.Version, stamp: c.facts.Stamp()}
}

// result translates a sound result of the server for the client of a call.
func (h *resultTranslator) result(x *request.Exchange,
	result jsontext.Value) (jsontext.Value, error) {
	if x.Names != nil {
		result = x.Names.Result(result)
	}
	result, err := rewrite.Result(
		x.Method, h.version, x.Version, result, rewrite.Options{Server: h.stamp},
	)
	if err != nil {
		return nil, protocol.UpstreamInvalid(h.server, err)
	}
	if x.Version.Has(protocol.ResultType) {
		result = mrtr.WithResultType(result)
	}
	if x.Rewrite != nil {
		result = x.Rewrite(result)
	}
	return result, nil
}
