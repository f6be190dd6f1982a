package catalog

import (
	"slices"
	"sync"
)

// Bounds of the references that are remembered for one principal. Beyond them the oldest
// reference is evicted.
const (
	MaxReferences     = 1000
	MaxReferenceBytes = 128 << 10
)

// References remembers which server gave which URI to which principal, for URIs that are in
// no list and match no template. It is safe for concurrent use. Create it with NewReferences.
type References struct {
	// room reports whether there is room for n more bytes.
	room func(n int) bool
	// count receives each change of the number of bytes.
	count func(n int)

	mu sync.Mutex
	by map[string]*remembered
}

// remembered are the references of one principal.
type remembered struct {
	// servers are the servers that gave a URI.
	servers map[string][]string
	// order has the references in the order in which they were first given.
	order []reference
	bytes int
}

type reference struct{ uri, server string }

// NewReferences returns an empty References. Room reports whether there is room for n more bytes.
// Count receives each change of the number of bytes kept.
func NewReferences(room func(n int) bool, count func(n int)) *References {
	return &References{room: room, count: count, by: map[string]*remembered{}}
}

// Add remembers that a server gave a URI to a principal, if there is room.
func (r *References) Add(principal, server, uri string) {
	if r == nil || len(uri) > MaxURI || !r.room(size(uri)) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.by[principal]
	if own == nil {
		own = &remembered{servers: map[string][]string{}}
		r.by[principal] = own
	}
	if slices.Contains(own.servers[uri], server) {
		return
	}
	before := own.bytes
	own.servers[uri] = append(own.servers[uri], server)
	own.order = append(own.order, reference{uri, server})
	own.bytes += size(uri)
	for len(own.order) > MaxReferences || own.bytes > MaxReferenceBytes {
		own.forget()
	}
	r.count(own.bytes - before)
}

// size returns how many bytes count for one reference: the URI and an estimate of the
// overhead.
func size(uri string) int { return len(uri) + 64 }

// forget drops the oldest reference.
func (own *remembered) forget() {
	oldest := own.order[0]
	own.order[0] = reference{}
	own.order = own.order[1:]
	own.bytes -= size(oldest.uri)
	remaining := slices.DeleteFunc(
		own.servers[oldest.uri],
		func(s string) bool { return s == oldest.server },
	)
	if own.servers[oldest.uri] = remaining; len(remaining) == 0 {
		delete(own.servers, oldest.uri)
	}
}

// ServerOf returns the first server in order that gave a URI to a principal.
func (r *References) ServerOf(principal, uri string, order []string) (server string, ok bool) {
	if r == nil {
		return "", false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if own := r.by[principal]; own != nil {
		for _, server := range order {
			if slices.Contains(own.servers[uri], server) {
				return server, true
			}
		}
	}
	return "", false
}

// Clear drops all references.
func (r *References) Clear() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for principal, own := range r.by {
		delete(r.by, principal)
		r.count(-own.bytes)
	}
}
