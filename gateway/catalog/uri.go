package catalog

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
	"mcpd/protocol/subscription"
)

// scheme begins the URIs that name a server. A server's own URI that begins so is always wrapped: it could pose as another's.
const scheme = "mcpd://"

// pages begins the URIs of user interfaces (MCP Apps, SEP-1865). Clients take no other scheme for
// them, so that one which names its server keeps it: its authority is mcpd, which is ours.
const (
	pages = "ui://"
	paged = pages + "mcpd/"
)

// MaxURI bounds the bytes of a resource's URI that is kept: a server's, which is not listed otherwise,
// and a client's, which it cannot subscribe to otherwise. Any other is bounded by its message.
const MaxURI = 8 << 10

// CheckURI says why a client cannot subscribe to a URI: it is too long. A wrapped one counts as what
// is wrapped.
func CheckURI(uri string) error {
	own := uri
	if server, inner, ok := unwrap(uri); ok && len(server) <= MaxName {
		own = inner
	}
	if strings.HasPrefix(uri, subscription.Mark) {
		return protocol.InvalidParams("a resource's URI begins with a control character")
	}
	if len(own) <= MaxURI {
		return nil
	}
	return protocol.InvalidParams(fmt.Sprintf("a resource's URI has %d bytes, and may have %d: use a shorter one", len(own), MaxURI))
}

// CheckSubscribedURI is CheckURI of the URI that the params of a subscription name. No other method
// keeps a client's URI.
func CheckSubscribedURI(method string, params jsontext.Value) error {
	if method != "resources/subscribe" {
		return nil
	}
	uri, _ := splice.GetString(params, "uri")
	return CheckURI(uri)
}

// isPage reports whether a URI is that of a user interface.
func isPage(uri string) bool { return strings.HasPrefix(uri, pages) && len(uri) > len(pages) }

// begins reports whether a URI begins with a scheme and what follows it, in whatever case: clients may
// change that to lower case.
func begins(uri, prefix string) bool {
	return len(uri) >= len(prefix) && strings.EqualFold(uri[:len(prefix)], prefix)
}

// Wrap is the form of a resource's URI that names its server: mcpd://{server}/{percent-encoded URI},
// and ui://mcpd/{server}/{rest} for ui://{rest}. It is accepted for every resource, and is how a
// resource is listed whose own URI means another one, or is a page's.
func Wrap(server, uri string) string {
	if isPage(uri) {
		return paged + server + "/" + uri[len(pages):]
	}
	return scheme + server + "/" + escape(uri)
}

// wrapTemplate keeps a template a template. Expanding it gives a URI that was not percent-encoded, which unwrap takes as it stands.
func wrapTemplate(server, template string) string {
	if isPage(template) {
		return Wrap(server, template)
	}
	return scheme + server + "/" + template
}

// unwrap takes a wrapped URI apart. Percent-encoding leaves no colon and every URI has one, so a rest with a colon was not encoded.
func unwrap(wrapped string) (server, uri string, ok bool) {
	if rest, ok := strings.CutPrefix(wrapped, paged); ok {
		server, uri, _ = strings.Cut(rest, "/")
		return server, pages + uri, server != "" && uri != ""
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

// escape encodes all but what RFC 3986 calls unreserved.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// ofWeb says that clients fetch the URI themselves (2025-11-25 §server/resources, Common URI Schemes).
func ofWeb(uri string) bool {
	return begins(uri, "https://") || begins(uri, "http://")
}

// ofItself says that a URI has its content in itself (RFC 2397), or in its own message (RFC 2392).
func ofItself(uri string) bool {
	return begins(uri, "data:") || begins(uri, "cid:")
}
