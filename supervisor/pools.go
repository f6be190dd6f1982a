package supervisor

import (
	"runtime"
	"sync"
	"weak"

	"mcpd/transport/streamable"
)

// transports tracks the HTTP connections to servers for as long as they are in use.
type transports struct{ all sync.Map } // the keys: each a weak.Pointer[streamable.Transport]

// add registers the connections to one server.
func (p *transports) add(t *streamable.Transport) *streamable.Transport {
	key := weak.Make(t)
	p.all.Store(key, nil)
	runtime.AddCleanup(t, func(key weak.Pointer[streamable.Transport]) { p.all.Delete(key) }, key)
	return t
}

// closeIdle closes the connections that are kept for a next request.
func (p *transports) closeIdle() {
	for t := range p.each {
		t.CloseIdleConnections()
	}
}

// idle returns how many such connections there are.
func (p *transports) idle() (n int) {
	for t := range p.each {
		n += t.Idle()
	}
	return n
}

// each yields the transports that are in use.
func (p *transports) each(yield func(*streamable.Transport) bool) {
	p.all.Range(func(key, _ any) bool {
		t := key.(weak.Pointer[streamable.Transport]).Value()
		return t == nil || yield(t)
	})
}
