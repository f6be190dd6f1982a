package streamable

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	"mcpd/protocol"
	"mcpd/protocol/headers"
)

// checkHeader refuses what cannot be sent, without repeating a value: it may be a secret.
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
				return fmt.Errorf("the value of header %q holds a control character", name)
			}
		}
	}
	return nil
}

// tokenRune is the alphabet of header names (RFC 9110 §5.6.2).
func tokenRune(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// dress is what the requests of one session that say nothing of their own have in common. It is
// not changed once it is kept.
type dress struct {
	session string
	version protocol.Version
	header  http.Header
	head    []byte // of a POST to the server, but for the length of its body; nil where net/http is to write it
}

// dressed is the header of a request: what is configured, what the session and the revision ask
// for, and what is the request's own.
func (c *Client) dressed(session string, extra http.Header) *dress {
	v := protocol.Version(c.version.Load())
	common := isCommon(extra)
	if kept := c.dress.Load(); common && kept != nil && kept.session == session && kept.version == v {
		return kept
	}
	d := &dress{session: session, version: v, header: make(http.Header, len(c.given)+7)}
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
		c.dress.Store(d)
	}
	return d
}

// headOf writes the head of a POST to the server that has a small body, if the transport sends
// such itself.
func (c *Client) headOf(header http.Header) []byte {
	r := &http.Request{Method: http.MethodPost, URL: c.url, Host: c.url.Host, Header: header}
	if t, own := c.transport.(*Transport); !own || t.proxied || !plain(r) {
		return nil
	}
	head, err := appendHead(nil, r)
	if err != nil {
		return nil // RoundTrip says what is wrong
	}
	return head
}

// isCommon reports whether a request says nothing of its own: its fields are those of postAccept,
// and not of a copy.
func isCommon(extra http.Header) bool {
	own := extra["Accept"]
	return len(extra) == len(postAccept) && len(own) > 0 && &own[0] == &postAccept["Accept"][0]
}
