package supervisor

import "mcpd/transport/streamable"

// dialectOf returns what was learned about how to speak to a server at its URL.
func (h *host) dialectOf(name serverName, url string, sse bool) *streamable.Dialect {
	return h.dialects.of(
		h.now, name, url,
		func(string, string) bool { return false }, // no order among URLs
		func() *streamable.Dialect { return streamable.NewDialect(sse) },
	)
}
