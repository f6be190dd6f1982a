package streamable

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	"mcpd/protocol"
	"mcpd/protocol/headers"
)

// checkHeader returns an error for a header that cannot be sent. The error does not contain a
// value, which may be a secret.
func checkHeader(h http.Header) error {
	for name, values := range h {
		switch {
		case name == "" || strings.ContainsFunc(name, func(r rune) bool { return !tokenRune(r) }):
			return fmt.Errorf("header %q is not a header name", name)
		case headers.Reserved(name):
			return fmt.Errorf("header %q is set by the protocol", name)
		}
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("the value of header %q contains a control character", name)
			}
		}
	}
	return nil
}

// tokenRune reports whether a rune is allowed in header names (RFC 9110 §5.6.2).
func tokenRune(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' ||
		strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// requestTemplate is a request template: the common header of all requests of one session without
// fields of their own. It is immutable once stored.
type requestTemplate struct {
	session string
	version protocol.Version
	header  http.Header
	// head is the head of a POST to the server, up to the length of its body; nil if net/http has to
	// write it.
	head []byte
}

// templateFor returns the template for a request, which contains the configured headers, those of
// the session and the revision, and extra.
func (c *Client) templateFor(session string, extra http.Header) *requestTemplate {
	v := protocol.Version(c.version.Load())
	common := isCommon(extra)
	if kept := c.template.Load(); common && kept != nil && kept.session == session &&
		kept.version == v {
		return kept
	}
	d := &requestTemplate{session: session, version: v, header: make(http.Header, len(c.given)+7)}
	for name, values := range c.given {
		d.header[http.CanonicalHeaderKey(name)] = values
	}
	if d.header["User-Agent"] == nil {
		d.header["User-Agent"] = []string{"mcpd"}
	}
	d.header["Accept-Encoding"] = identity
	if session != "" {
		d.header["Mcp-Session-Id"] = []string{session}
	}
	if v.Has(protocol.VersionHeader) {
		d.header["Mcp-Protocol-Version"] = []string{v.String()}
	}
	maps.Copy(d.header, extra)
	if common {
		d.head = c.headOf(d.header)
		c.template.Store(d)
	}
	return d
}

// headOf returns the head of a POST with a small body in wire form, if the transport sends such
// requests itself.
func (c *Client) headOf(header http.Header) []byte {
	r := &http.Request{Method: http.MethodPost, URL: c.url, Host: c.url.Host, Header: header}
	if t, own := c.transport.(*Transport); !own || t.proxied || !plain(r) {
		return nil
	}
	head, err := appendHead(nil, r)
	if err != nil {
		return nil // RoundTrip reports the error
	}
	return head
}

// isCommon reports whether a request has no fields of its own: extra is postAccept itself, not a
// copy.
func isCommon(extra http.Header) bool {
	own := extra["Accept"]
	return len(extra) == len(postAccept) && len(own) > 0 && &own[0] == &postAccept["Accept"][0]
}
