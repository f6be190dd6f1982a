package streamable

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxQuery limits the number of query parameters. Only the ticket of HTTP+SSE is read from a query.
const maxQuery = 100

// allowedMethods is the value of the Allow header in a 405, for each route kind.
var allowedMethods = []string{Streamable: "GET, POST, DELETE", Events: "GET", Messages: "POST"}

// edgeChecks lists the checks of every request that run before routing. Their order matters: cheap
// checks that reveal nothing come first.
var edgeChecks = []func(*Handler, *http.Request) (refusal, string){
	(*Handler).checkHeaders,
	(*Handler).checkURL,
	(*Handler).checkHost,
	(*Handler).checkOrigin,
	(*Handler).checkRepeats,
	(*Handler).checkMethod,
}

// checkHeaders counts the header fields. It also removes fields that only a trusted proxy may set,
// so that no later code can trust a forged one.
func (h *Handler) checkHeaders(r *http.Request) (refusal, string) {
	// The preface of HTTP/2, which net/http passes to the handler when HTTP/2 is off.
	if r.Method == "PRI" && r.ProtoMajor == 2 {
		return badMethod, "this is HTTP/2 without TLS, which needs h2c: true in the configuration"
	}
	n := 0
	for name, values := range r.Header {
		n += len(values)
		if name == "Forwarded" || strings.HasPrefix(name, "X-Forwarded-") ||
			strings.HasPrefix(name, "X-Mcpd-") || name == "X-Real-Ip" {
			delete(r.Header, name)
		}
	}
	if most := h.options.Admission().bounds.Headers; n > most {
		return tooManyHeaders, fmt.Sprintf("more than %d header fields", most)
	}
	return accepted, ""
}

func (h *Handler) checkURL(r *http.Request) (refusal, string) {
	if most := h.options.Admission().bounds.URL; len(r.RequestURI) > most {
		return urlTooLong, fmt.Sprintf("request target longer than %d bytes", most)
	}
	if r.URL.RawQuery == "" {
		return accepted, ""
	}
	if strings.Count(r.URL.RawQuery, "&") >= maxQuery {
		return badQuery, "more than 100 query parameters"
	}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, _, _ := strings.Cut(pair, "=")
		// A token in a URL ends up in logs and histories (2025-11-25 §basic/authorization, "Access Token
		// Usage").
		if name, err := url.QueryUnescape(name); err != nil || strings.EqualFold(name, "access_token") {
			return badQuery, "query is malformed or carries a credential"
		}
	}
	return accepted, ""
}

// checkHost compares the authority of the request with the configured host names. HTTP/1.1 with an
// absolute target, and HTTP/2, give the authority in addition to the Host header. If both are
// present they must agree.
func (h *Handler) checkHost(r *http.Request) (refusal, string) {
	if second := r.Header["Host"]; len(second) > 0 && (len(second) > 1 || second[0] != r.Host) {
		return badHost, "two different hosts in one request"
	}
	if !h.options.Admission().hosts.has(r.Host, schemeOf(r)) {
		return badHost, fmt.Sprintf("%s is not a host that this server serves: "+
			"to serve it, add it to hosts in its configuration", quoted(r.Host))
	}
	return accepted, ""
}

// checkOrigin accepts requests that come from no web page, from a page of this host, or from a
// listed origin (2025-11-25 §basic/transports, "Security Warning"). The host's own origin consists
// of scheme, name and port as the client sees them: a trusted proxy that terminates TLS supplies
// the scheme, and some proxies include the default port.
func (h *Handler) checkOrigin(r *http.Request) (refusal, string) {
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		switch r.Header.Get("Sec-Fetch-Site") {
		case "", "none", "same-origin":
			return accepted, ""
		}
		return badOrigin, "cross-site request without origin"
	}
	if len(origins) > 1 {
		return badOrigin, "header Origin given more than once"
	}
	if !isOwnOrigin(r, origins[0]) && !h.options.Admission().origins.has(origins[0]) {
		return badOrigin, fmt.Sprintf("origin %s is not allowed to call: "+
			"to let its pages call, add it to origins in the configuration", quoted(origins[0]))
	}
	return accepted, ""
}

// isOwnOrigin reports whether an origin is that of the request's own host.
func isOwnOrigin(r *http.Request, origin string) bool {
	return plainOrigin(origin) == originOf(schemeOf(r), r.Host)
}

// maxQuoted is the maximum number of client-sent bytes that an error message repeats.
const maxQuoted = 100

// quoted quotes and shortens a part of a request for use in the error message that refuses it.
func quoted(text string) string {
	if len(text) > maxQuoted {
		text = text[:maxQuoted]
	}
	return strconv.QuoteToASCII(text)
}

// singleHeaders lists the header fields that may occur only once. Two readers of a request could
// otherwise choose different values.
var singleHeaders = []string{
	"Authorization", "Content-Encoding", "Content-Type", "Last-Event-Id", "Mcp-Protocol-Version",
	"Mcp-Session-Id", "X-Mcp-Session-Id",
	"X-Api-Key",
}

func (h *Handler) checkRepeats(r *http.Request) (refusal, string) {
	for _, name := range singleHeaders {
		if len(r.Header[name]) > 1 {
			return repeatedHeader, "header " + name + " given more than once"
		}
	}
	if a, b := r.Header["Mcp-Session-Id"], r.Header["X-Mcp-Session-Id"]; len(a) > 0 && len(b) > 0 &&
		a[0] != b[0] {
		return repeatedHeader, "headers Mcp-Session-Id and X-MCP-Session-ID name two sessions"
	}
	return accepted, ""
}

func (h *Handler) checkMethod(r *http.Request) (refusal, string) {
	switch r.Method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
		return accepted, ""
	case http.MethodOptions:
		if r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != "" {
			return accepted, ""
		}
	}
	return badMethod, "method " + r.Method + " is not allowed here"
}
