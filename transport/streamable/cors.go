package streamable

import (
	"net/http"
	"strings"
)

// The headers that a page of an allowed origin may send and read (Fetch standard §3.2).
const (
	corsRequestHeaders = "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, " +
		"Mcp-Protocol-Version, Mcp-Session-Id, X-MCP-Session-ID, X-API-Key, traceparent, tracestate, " +
		"baggage"
	corsResponseHeaders = "Mcp-Session-Id, X-MCP-Session-ID, Retry-After, WWW-Authenticate"
	corsMaxAge          = "600" // seconds; browsers limit it to between 600 and 86400
)

// paramPrefix is the prefix of header fields that a tool declares with x-mcp-header (2026-07-28
// §server/tools).
const paramPrefix = "mcp-param-"

// handleCORS adds the headers that let a page of another origin read the answer, and answers
// preflights itself. checkOrigin has accepted the origin. Only a page of an origin in the
// configuration may send credentials that the browser holds for this host, such as a key.
func (h *Handler) handleCORS(w http.ResponseWriter, r *http.Request) (answered bool) {
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
		header.Set("Access-Control-Expose-Headers", corsResponseHeaders)
		return false
	}
	header.Set("Access-Control-Allow-Methods", allowedMethods[Streamable])
	header.Set("Access-Control-Allow-Headers", corsRequestHeaders+requestedParamHeaders(r))
	header.Set("Access-Control-Max-Age", corsMaxAge)
	h.writeEmpty(w, http.StatusNoContent)
	return true
}

// requestedParamHeaders returns the Mcp-Param-… header names that a preflight asks for, each after
// a comma. No fixed list can contain them, because each server has its own, and browsers accept no
// wildcard in requests with credentials.
func requestedParamHeaders(r *http.Request) string {
	var b strings.Builder
	for _, field := range r.Header["Access-Control-Request-Headers"] {
		for name := range strings.SplitSeq(field, ",") {
			name = strings.TrimSpace(name)
			if len(name) > len(paramPrefix) && strings.EqualFold(name[:len(paramPrefix)], paramPrefix) &&
				isToken(name) {
				b.WriteString(", " + name)
			}
		}
	}
	return b.String()
}

// isToken reports whether a name is a valid header field name (RFC 9110 §5.6.2).
func isToken(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
			!strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}
