package streamable

import (
	"net/http"
	"strings"
)

// What a page of an allowed origin may send and see (Fetch standard §3.2).
const (
	corsHeaders = "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, " +
		"Mcp-Protocol-Version, Mcp-Session-Id, X-MCP-Session-ID, X-API-Key, traceparent, tracestate, baggage"
	corsExposed = "Mcp-Session-Id, X-MCP-Session-ID, Retry-After, WWW-Authenticate"
	corsMaxAge  = "600" // seconds; browsers cap it at 600 to 86400
)

// paramPrefix begins the header fields that a tool asks for by x-mcp-header (2026-07-28 §server/tools).
const paramPrefix = "mcp-param-"

// crossOrigin adds what a browser needs to let the page see the answer, and answers preflights
// itself. The origin was checked before. A page of a configured origin may send credentials: the key
// of a browser that has one for this host is for that origin too.
func (h *Handler) crossOrigin(w http.ResponseWriter, r *http.Request) (answered bool) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Vary", "Origin")
	if h.options.Admission().origins.has(origin) {
		header.Set("Access-Control-Allow-Credentials", "true")
	}
	if r.Method != http.MethodOptions {
		header.Set("Access-Control-Expose-Headers", corsExposed)
		return false
	}
	header.Set("Access-Control-Allow-Methods", allowed[Streamable])
	header.Set("Access-Control-Allow-Headers", corsHeaders+requestedParams(r))
	header.Set("Access-Control-Max-Age", corsMaxAge)
	h.writeEmpty(w, http.StatusNoContent)
	return true
}

// requestedParams are the fields of a tool's arguments that a preflight asks for. No list can have
// them: each server has its own, and with credentials a browser takes no wildcard.
func requestedParams(r *http.Request) string {
	var b strings.Builder
	for _, field := range r.Header["Access-Control-Request-Headers"] {
		for name := range strings.SplitSeq(field, ",") {
			name = strings.TrimSpace(name)
			if len(name) > len(paramPrefix) && strings.EqualFold(name[:len(paramPrefix)], paramPrefix) && isToken(name) {
				b.WriteString(", " + name)
			}
		}
	}
	return b.String()
}

// isToken reports whether a name may be a header field's (RFC 9110 §5.6.2).
func isToken(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}
