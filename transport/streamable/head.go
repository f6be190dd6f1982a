package streamable

import (
	"net/http"
	"slices"

	"mcpd/protocol"
)

// Recaller is a Host that lets a Handler remember what Route found of a request. A client sends the
// same head again and again over its connection, and nothing is parsed or looked up twice then.
type Recaller interface {
	// Settings numbers all that Route goes by beside the request: hosts, paths, servers and keys. The
	// number is another one after each change, so that a key which is revoked counts no longer.
	Settings() uint64
	// Enter is what Route does for every request, whatever is known of it: a POST to the endpoint that
	// Route found for an earlier one, by the same settings. Whether there is room, how fast requests
	// come, and whether a credential has expired, are asked here.
	Enter(r *http.Request, ep Endpoint) *protocol.Error
}

// head is what a POST said before its body, and where Route has sent it. It is kept with the one
// connection that it came over. Another POST whose head says the same to the byte would pass the same
// checks and be sent to the same endpoint: these depend on the head and on two values that are
// replaced, never changed, when the configuration is. Whoever calls from where is not part of it.
type head struct {
	by           decided
	target, host string
	fields       []field // all of them
	ep           Endpoint
}

// decided is what a head is judged by beside itself.
type decided struct {
	handler   *Handler
	admission *Admission
	settings  uint64
}

type field struct{ name, value string }

// varies lists the fields whose values are another in each call. No check of edge and checkPost goes
// by them, nor does a Recaller: the session is looked up in each case, and what is said of the
// message is compared with it.
var varies = []string{"Content-Length", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Traceparent"}

// maxStrange is how many heads may follow each other that are none remembered. A connection of a proxy
// has another client's each time: it remembers none.
const maxStrange = 8

// maxHead bounds what is remembered of one connection, in bytes of names and values. Heads of clients
// are a third of it; a longer one is looked at each time, so that nobody has a host keep it.
const maxHead = 2 << 10

// recall returns what is remembered of a POST, or nil, and by what it is judged now. That is none, too,
// where nothing may be remembered: several requests of HTTP/2 come at once.
func (h *Handler) recall(r *http.Request) (known *head, by decided) {
	recaller, ok := h.options.Host.(Recaller)
	if !ok || r.Method != http.MethodPost || r.ProtoMajor != 1 {
		return nil, by
	}
	c := connectionOf(r)
	if c == nil || c.strange > maxStrange {
		return nil, by
	}
	by = decided{h, h.options.Admission(), recaller.Settings()}
	if c.head != nil && c.head.by != by { // it may hold a key that was revoked
		c.head = nil
	}
	if c.head != nil && c.head.is(r) {
		c.strange = 1
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
		if len(values) != 1 || !f.is(values[0]) && !slices.Contains(varies, f.name) {
			return false
		}
	}
	return true
}

// is reports whether a field has the same value. How long that takes tells nobody how much of a key
// he has guessed: over the connection of a proxy come the clients of several.
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

// learn remembers a POST that passed all checks, when it is not the first of its connection: many
// connections have one. Fields is how many it came with. Those that were removed are what a proxy
// says, by which the client's scheme may be another; a page of a browser is answered with fields of
// its own; and two names of one session are compared with each other.
func (h *Handler) learn(r *http.Request, by decided, fields int, ep Endpoint) {
	if by.handler == nil {
		return
	}
	c := connectionOf(r)
	if c.strange++; c.strange > maxStrange {
		c.head = nil
		return
	}
	one := func(name string) bool { return len(r.Header[name]) > 0 }
	if c.strange == 1 || len(r.Header) != fields || one("Origin") || one("X-Mcp-Session-Id") {
		return
	}
	if f, _ := checkPost(r); f != accepted {
		return
	}
	known := &head{by: by, target: r.RequestURI, host: r.Host, ep: ep, fields: make([]field, 0, fields)}
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
