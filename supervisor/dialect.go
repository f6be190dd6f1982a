package supervisor

import "mcpd/transport/streamable"

// dialectKey is a URL of a server.
type dialectKey struct{ tenant, server, url string }

// dialectOf is what was found out about how to speak to a server at a URL. Other URLs of the
// server, and those of servers that are configured no more, are forgotten when a new URL is used.
// Connections to those go on with what they have.
func (h *host) dialectOf(k dialectKey, sse bool) *streamable.Dialect {
	dialect, had := h.dialects.LoadOrStore(k, streamable.NewDialect(sse))
	if !had {
		h.dialects.Range(func(key, _ any) bool {
			old := key.(dialectKey)
			moved := old.tenant == k.tenant && old.server == k.server
			if old != k && (moved || !h.configured(old.tenant, old.server)) {
				h.dialects.Delete(old)
			}
			return true
		})
	}
	return dialect.(*streamable.Dialect)
}
