package catalog

import (
	"net/url"
	"strings"
)

// scheme begins the URIs that name a server. A server's own URI that begins so is always wrapped: it could pose as another's.
const scheme = "mcpd://"

// MaxURI bounds what is looked for among resources and templates.
const MaxURI = 8 << 10

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
