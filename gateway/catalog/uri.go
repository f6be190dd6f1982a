package catalog

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// scheme begins the URIs that name a server. A server's own URI that begins so is always wrapped: it could pose as another's.
const scheme = "mcpd://"

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

// Wrap is the form of a resource's URI that names its server. It is accepted for every resource, and is how a resource is listed whose
// plain URI means another one: mcpd://{server}/{percent-encoded URI}.
func Wrap(server, uri string) string { return scheme + server + "/" + escape(uri) }

// wrapTemplate keeps a template a template. Expanding it gives a URI that was not percent-encoded, which unwrap takes as it stands.
func wrapTemplate(server, template string) string { return scheme + server + "/" + template }

// unwrap takes a wrapped URI apart. Percent-encoding leaves no colon and every URI has one, so a rest with a colon was not encoded.
func unwrap(wrapped string) (server, uri string, ok bool) {
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
	return strings.HasPrefix(uri, "https://") || strings.HasPrefix(uri, "http://")
}
