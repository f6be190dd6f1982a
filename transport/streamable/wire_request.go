package streamable

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"mcpd/protocol/headers"
)

// requests are buffers for the wire form of requests.
var requests = sync.Pool{New: func() any { return new([]byte) }}

// reuse returns the buffer of a sent request to the pool, unless it is large.
func reuse(buffer *[]byte, out []byte) {
	if *buffer = out; cap(out) <= wireBuffer {
		requests.Put(buffer)
	}
}

// plain reports whether this package sends the request itself, instead of net/http: small, without
// TLS, and without rare features.
func plain(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
	default:
		return false
	}
	return canProbe && r.URL.Scheme == "http" && isASCII(r.URL.Host) && isASCII(r.Host) &&
		(r.Body == nil) == (r.ContentLength == 0) && 0 <= r.ContentLength &&
		r.ContentLength <= smallBody && !r.Close && r.TransferEncoding == nil && r.Trailer == nil
}

// isASCII reports whether a host can be looked up without translation to ASCII.
func isASCII(host string) bool {
	return !strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' })
}

// appendRequest appends a request in wire form, and closes its body.
func appendRequest(to []byte, r *http.Request) ([]byte, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	to, err := appendHead(to, r)
	if r.ContentLength > 0 || r.Method == http.MethodPost {
		to = appendLength(append(to, length...), r.ContentLength)
	} else {
		to = append(to, newline...)
	}
	if head := len(to); err == nil && r.Body != nil {
		to = append(to, make([]byte, r.ContentLength)...)
		if _, err = io.ReadFull(r.Body, to[head:]); err != nil {
			err = fmt.Errorf("body of the request: %w", err)
		}
	}
	return to, err
}

// appendHead appends the head of a request, up to the fields that describe its body.
func appendHead(to []byte, r *http.Request) ([]byte, error) {
	to = append(append(to, r.Method...), ' ')
	to = append(append(to, r.URL.RequestURI()...), " HTTP/1.1\r\nHost: "...)
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	// The zone of an IPv6 address has no meaning for the server (RFC 6874 §4).
	if at := strings.IndexByte(host, '%'); at >= 0 && strings.HasPrefix(host, "[") {
		host = host[:at] + host[at+strings.IndexByte(host[at:], ']'):]
	}
	to = append(append(to, host...), "\r\n"...)
	for name, values := range r.Header {
		switch name {
		// This package sets the fields that determine the end of the request.
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer":
			continue
		}
		for _, value := range values {
			if !isName(name) || !isValue(value) {
				// The value may be a secret, so it is not shown.
				return to, fmt.Errorf("the value of header %q cannot be sent", name)
			}
			to = append(append(append(append(to, name...), ": "...), value...), "\r\n"...)
		}
	}
	return to, nil
}

// length is the name of the field with the length of a body, and its separator.
const length = "Content-Length: "

// appendLength completes a head that ends with that name.
func appendLength(to []byte, n int64) []byte {
	return append(strconv.AppendInt(to, n, 10), "\r\n\r\n"...)
}

// appendPost appends a POST. head is its head in wire form, without the fields in own and the
// length of the body.
func appendPost(to, head []byte, own []headers.Field, body []byte) []byte {
	to = append(to, head...)
	for _, f := range own {
		to = append(append(append(append(to, http.CanonicalHeaderKey(f.Name)...), ": "...), f.Value...),
			newline...)
	}
	return append(appendLength(append(to, length...), int64(len(body))), body...)
}

// isName reports whether a name is valid for a field (RFC 9110 §5.1).
func isName(name string) bool {
	for _, r := range name {
		if r != '-' && !tokenRune(r) {
			return false
		}
	}
	return name != ""
}

// isValue reports whether a value is valid for a field (RFC 9110 §5.5).
func isValue(value string) bool {
	for i := range len(value) {
		if b := value[i]; b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}
