package server

import (
	"sync"

	"mcpd/actors/session"
)

// held are the requests that a session has taken and neither answered nor passed on yet, because it waits for somebody else's word. It is
// the session's heir only for what happens to an heir when there is nobody left: each is answered then, whatever ended the session.
type held struct {
	mu  sync.Mutex // guards what follows; a session that hangs is abandoned while it runs
	all map[*session.Deliver]struct{}
}

// add keeps a request.
func (h *held) add(d *session.Deliver) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[*session.Deliver]struct{}{}
	}
	h.all[d] = struct{}{}
}

// remove lets go of a request that is answered or passed on.
func (h *held) remove(d *session.Deliver) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, d)
}

func (h *held) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

// Abandon answers what is left.
func (h *held) Abandon(reason error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for d := range h.all {
		d.Fail(reason)
	}
	h.all = nil
}
