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

// requests are buffers in which requests were written.
var requests = sync.Pool{New: func() any { return new([]byte) }}

// reuse has the buffer of a request that was sent used again, unless it is large.
func reuse(buffer *[]byte, out []byte) {
	if *buffer = out; cap(out) <= wireBuffer {
		requests.Put(buffer)
	}
}

// plain reports whether a request is one of those that we write ourselves: small, without TLS, and of nothing that we never send.
func plain(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
	default:
		return false
	}
	return canKeep && r.URL.Scheme == "http" && isASCII(r.URL.Host) && isASCII(r.Host) && (r.Body == nil) == (r.ContentLength == 0) && 0 <= r.ContentLength &&
		r.ContentLength <= smallBody && !r.Close && r.TransferEncoding == nil && r.Trailer == nil
}

// isASCII reports whether a host needs no translation to be looked up.
func isASCII(host string) bool {
	return !strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' })
}

// appendRequest writes a request, and closes its body.
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

// appendHead writes the head of a request, up to what it says of its body.
func appendHead(to []byte, r *http.Request) ([]byte, error) {
	to = append(append(to, r.Method...), ' ')
	to = append(append(to, r.URL.RequestURI()...), " HTTP/1.1\r\nHost: "...)
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	if at := strings.IndexByte(host, '%'); at >= 0 && strings.HasPrefix(host, "[") { // the zone means nothing to the server (RFC 6874 §4)
		host = host[:at] + host[at+strings.IndexByte(host[at:], ']'):]
	}
	to = append(append(to, host...), "\r\n"...)
	for name, values := range r.Header {
		switch name {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer": // they say where the request ends, which we do
			continue
		}
		for _, value := range values {
			if !isName(name) || !isValue(value) {
				return to, fmt.Errorf("the value of header %q cannot be sent", name) // not repeated: it may be a secret
			}
			to = append(append(append(append(to, name...), ": "...), value...), "\r\n"...)
		}
	}
	return to, nil
}

// length is the field that says how long a body is.
const length = "Content-Length: "

// appendLength ends a head that ends with the name of that field.
func appendLength(to []byte, n int64) []byte {
	return append(strconv.AppendInt(to, n, 10), "\r\n\r\n"...)
}

// appendPost writes a POST, the head of which is written already but for its own fields and the
// length of its body.
func appendPost(to, head []byte, own []headers.Field, body []byte) []byte {
	to = append(to, head...)
	for _, f := range own {
		to = append(append(append(append(to, http.CanonicalHeaderKey(f.Name)...), ": "...), f.Value...), newline...)
	}
	return append(appendLength(append(to, length...), int64(len(body))), body...)
}

// isName reports whether a field may be called so (RFC 9110 §5.1).
func isName(name string) bool {
	for _, r := range name {
		if r != '-' && !tokenRune(r) {
			return false
		}
	}
	return name != ""
}

// isValue reports whether a field may have that value (RFC 9110 §5.5).
func isValue(value string) bool {
	for i := range len(value) {
		if b := value[i]; b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}
