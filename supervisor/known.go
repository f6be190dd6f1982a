package supervisor

import (
	"iter"
	"slices"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
)

// knownKey is one declaration of a server.
type knownKey struct {
	tenant, server string
	revision       uint32
}

// knownOf is what the connections to a server know of it from each other. What was known of earlier
// declarations, and of servers that are configured no more, is forgotten when something new is known.
// Connections to those go on with what they have.
func (h *host) knownOf(k knownKey) *client.Known {
	known, had := h.known.LoadOrStore(k, &client.Known{})
	if !had {
		h.known.Range(func(key, _ any) bool {
			if old := key.(knownKey); old != k && h.outdated(old, k) {
				h.known.Delete(old)
			}
			return true
		})
	}
	return known.(*client.Known)
}

// outdated reports whether a declaration is no more, now that there is another.
func (h *host) outdated(old, now knownKey) bool {
	if old.tenant == now.tenant && old.server == now.server {
		return old.revision < now.revision
	}
	return !h.configured(old.tenant, old.server)
}

// configured reports whether the configuration has a server.
func (h *host) configured(of, server string) bool {
	t := h.now().tenants[of]
	return t != nil && slices.ContainsFunc(t.Servers, func(s tenant.Server) bool { return s.Name == server })
}

// allRecords yields how many records the host keeps beside those of its rows.
func (h *host) allRecords() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for kind, n := range h.knownRecords() {
			if !yield(kind, n) {
				return
			}
		}
		if handler := h.front.Load(); handler != nil {
			yield("browser_streams", handler.BrowserStreams())
		}
	}
}

// knownRecords yields how much is known.
func (h *host) knownRecords() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		h.known.Range(func(_, known any) bool {
			more := true
			known.(*client.Known).Records(func(kind string, n int) bool {
				more = more && yield(kind, n)
				return more
			})
			return more
		})
	}
}
