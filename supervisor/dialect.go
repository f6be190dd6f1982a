package supervisor

import "mcpd/transport/streamable"

// dialectOf is what was found out about how to speak to a server at its URL.
func (h *host) dialectOf(name serverName, url string, sse bool) *streamable.Dialect {
	return h.dialects.of(
		h.now, name, url,
		func(string, string) bool { return false }, // nothing says which of two URLs is the newer one
		func() *streamable.Dialect { return streamable.NewDialect(sse) },
	)
}
