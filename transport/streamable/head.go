package streamable

import (
	"net/http"
	"slices"

	"mcpd/protocol"
)

// Recaller is a Host that lets a Handler cache the result of Route for a request. A client sends
// the same head again and again over its connection, and the Handler then neither parses nor looks
// up anything twice.
type Recaller interface {
	// Settings returns a version number for everything that Route depends on besides the request:
	// hosts, paths, servers and keys. It changes with each change of those, so that a revoked key is
	// no longer accepted.
	Settings() uint64
	// Enter makes the checks of Route that cannot be cached. The request is a POST to the endpoint
	// that Route found for an earlier one, under the same settings. Enter checks connection limits,
	// rate limits and the expiry of the credential.
	Enter(r *http.Request, ep Endpoint) *protocol.Error
}

// head is the part of a POST before its body, with the endpoint that Route found for it. It is
// cached with its connection. Another POST with a byte-identical head would pass the same checks
// and reach the same endpoint: these depend only on the head and on two values that are replaced,
// never modified, when the configuration changes. The caller's address is not part of head.
type head struct {
	by           headValidity
	target, host string
	fields       []field // all of them
	ep           Endpoint
}

// headValidity identifies everything other than the head that the checks depend on.
type headValidity struct {
	handler   *Handler
	admission *Admission
	settings  uint64
}

type field struct{ name, value string }

// varyingHeaders lists the fields whose values differ between calls. No check in edgeChecks or
// checkPost depends on them, nor does a Recaller: the session is looked up for every request, and
// the fields that describe the message are compared with it.
var varyingHeaders = []string{
	"Content-Length", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Traceparent",
}

// maxHeadMisses is the maximum number of consecutive requests whose head does not match the cached
// one. A proxy's connection carries another client's head each time, so nothing is cached for it.
const maxHeadMisses = 8

// maxHead limits the cached head of one connection, in bytes of names and values. Heads of typical
// clients take a third of it. A longer head is checked each time, so that clients cannot make the
// host store much.
const maxHead = 2 << 10

// cachedHead returns the cached head that matches a POST, or nil, and the state by which heads are
// judged now. That state is zero where nothing may be cached, as with HTTP/2, whose requests are
// concurrent.
func (h *Handler) cachedHead(r *http.Request) (known *head, by headValidity) {
	recaller, ok := h.options.Host.(Recaller)
	if !ok || r.Method != http.MethodPost || r.ProtoMajor != 1 {
		return nil, by
	}
	c := connectionOf(r)
	if c == nil || c.headMisses > maxHeadMisses {
		return nil, by
	}
	by = headValidity{h, h.options.Admission(), recaller.Settings()}
	if c.head != nil && c.head.by != by { // it may contain a revoked key
		c.head = nil
	}
	if c.head != nil && c.head.is(r) {
		c.headMisses = 1
		return c.head, by
	}
	return nil, by
}

// is reports whether a POST has the same head.
func (k *head) is(r *http.Request) bool {
	if r.RequestURI != k.target || r.Host != k.host || len(r.Header) != len(k.fields) {
		return false
	}
	for i := range k.fields {
		f := &k.fields[i]
		values := r.Header[f.name]
		if len(values) != 1 || !f.is(values[0]) && !slices.Contains(varyingHeaders, f.name) {
			return false
		}
	}
	return true
}

// is reports whether a field has the same value. For credentials, the duration of the comparison
// does not depend on the number of matching bytes. Otherwise other clients of a shared proxy
// connection could guess a key byte by byte.
func (f *field) is(value string) bool {
	if f.name != "Authorization" && f.name != "X-Api-Key" {
		return value == f.value
	}
	if len(value) != len(f.value) {
		return false
	}
	var differs byte
	for i := range len(value) {
		differs |= value[i] ^ f.value[i]
	}
	return differs == 0
}

// cacheHead caches the head of a POST that passed all checks. It skips the first request of a
// connection, since many connections have only one. fields is the number of header fields that the
// request had on arrival. cacheHead also skips requests with fields that were removed (a proxy set
// them, and they may change the client's scheme), requests of browser pages (whose answers have
// extra headers), and requests with two session headers (which must be compared).
func (h *Handler) cacheHead(r *http.Request, by headValidity, fields int, ep Endpoint) {
	if by.handler == nil {
		return
	}
	c := connectionOf(r)
	if c.headMisses++; c.headMisses > maxHeadMisses {
		c.head = nil
		return
	}
	one := func(name string) bool { return len(r.Header[name]) > 0 }
	if c.headMisses == 1 || len(r.Header) != fields || one("Origin") || one("X-Mcp-Session-Id") {
		return
	}
	if f, _ := checkPost(r); f != accepted {
		return
	}
	known := &head{
		by: by, target: r.RequestURI, host: r.Host, ep: ep, fields: make([]field, 0, fields),
	}
	size := len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		if len(values) != 1 {
			return
		}
		if size += len(name) + len(values[0]); size > maxHead {
			return
		}
		known.fields = append(known.fields, field{name, values[0]})
	}
	c.head = known
}
