package catalog

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/subscription"
)

// scheme begins the URIs that name a server. A server's own URI with this scheme is always
// wrapped, because it could pose as the URI of another server.
const scheme = "mcpd://"

// pageScheme begins the URIs of user interfaces (MCP Apps, SEP-1865). Clients accept no other
// scheme for them, so a page URI that names its server keeps the scheme. Its authority is
// mcpd, which is reserved for the host.
const (
	pageScheme  = "ui://"
	wrappedPage = pageScheme + "mcpd/"
)

// MaxURI bounds, in bytes, a resource's URI that is kept. A server's longer URI is not
// listed, and a client cannot subscribe to a longer URI. Any other URI is bounded only
// by its message.
const MaxURI = 8 << 10

// CheckURI returns an error if a client cannot subscribe to a URI: if the URI is too
// long, or begins with a control character. Of a wrapped URI the inner one counts.
func CheckURI(uri string) error {
	own := uri
	if server, inner, ok := unwrap(uri); ok && len(server) <= MaxName {
		own = inner
	}
	if strings.HasPrefix(uri, subscription.ExtensionPrefix) {
		return protocol.InvalidParams("a resource's URI begins with a control character")
	}
	if len(own) <= MaxURI {
		return nil
	}
	return protocol.InvalidParams(
		fmt.Sprintf("a resource's URI has %d bytes, and at most %d are allowed: use a shorter one",
			len(own), MaxURI),
	)
}

// CheckSubscribedURI applies CheckURI to the URI in the params of a subscription. No other
// method keeps a client's URI.
func CheckSubscribedURI(method string, params jsontext.Value) error {
	if method != "resources/subscribe" {
		return nil
	}
	uri, _ := jsonedit.GetString(params, "uri")
	return CheckURI(uri)
}

// isPage reports whether a URI is the URI of a user interface.
func isPage(uri string) bool {
	return strings.HasPrefix(uri, pageScheme) && len(uri) > len(pageScheme)
}

// begins reports whether a URI begins with prefix, ignoring case, because clients may change
// the scheme and authority to lower case.
func begins(uri, prefix string) bool {
	return len(uri) >= len(prefix) && strings.EqualFold(uri[:len(prefix)], prefix)
}

// Wrap returns the form of a resource's URI that names its server:
// mcpd://{server}/{percent-encoded URI}, and ui://mcpd/{server}/{rest} for ui://{rest}. The
// host accepts it for every resource. It lists a resource in this form if the resource's own
// ClientURI means another resource, or is a page.
func Wrap(server, uri string) string {
	if isPage(uri) {
		return wrappedPage + server + "/" + uri[len(pageScheme):]
	}
	return scheme + server + "/" + escape(uri)
}

// wrapTemplate wraps a template so that it remains a template. Its expansion is a URI that
// was not percent-encoded, which unwrap takes as it is.
func wrapTemplate(server, template string) string {
	if isPage(template) {
		return Wrap(server, template)
	}
	return scheme + server + "/" + template
}

// unwrap splits a wrapped URI. Percent-encoding leaves no colon and every URI has one,
// so a rest with a colon was not encoded.
func unwrap(wrapped string) (server, uri string, ok bool) {
	if rest, ok := strings.CutPrefix(wrapped, wrappedPage); ok {
		server, uri, _ = strings.Cut(rest, "/")
		return server, pageScheme + uri, server != "" && uri != ""
	}
	rest, ok := strings.CutPrefix(wrapped, scheme)
	if !ok {
		return "", "", false
	}
	server, uri, _ = strings.Cut(rest, "/")
	if !strings.Contains(uri, ":") {
		var err error
		if uri, err = url.PathUnescape(uri); err != nil {
			return "", "", false
		}
	}
	return server, uri, server != "" && uri != ""
}

// escape encodes all bytes except those that RFC 3986 calls unreserved.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// isWebURL reports whether clients fetch the URI themselves (2025-11-25 §server/resources,
// Common URI Schemes).
func isWebURL(uri string) bool {
	return begins(uri, "https://") || begins(uri, "http://")
}

// isInline reports whether a URI contains its content (RFC 2397), or refers to a part of its
// own message (RFC 2392).
func isInline(uri string) bool {
	return begins(uri, "data:") || begins(uri, "cid:")
}
