package supervisor

import (
	"runtime"
	"sync"
	"weak"

	"mcpd/transport/streamable"
)

// pools are the HTTP connections to servers, as long as somebody has a use for them.
type pools struct{ all sync.Map } // the keys: each a weak.Pointer[streamable.Transport]

// add takes note of those of one connection to a server.
func (p *pools) add(t *streamable.Transport) *streamable.Transport {
	key := weak.Make(t)
	p.all.Store(key, nil)
	runtime.AddCleanup(t, func(key weak.Pointer[streamable.Transport]) { p.all.Delete(key) }, key)
	return t
}

// closeIdle closes those that are kept for a next request.
func (p *pools) closeIdle() {
	p.all.Range(func(key, _ any) bool {
		if t := key.(weak.Pointer[streamable.Transport]).Value(); t != nil {
			t.CloseIdleConnections()
		}
		return true
	})
}
