package server

import (
	"sync"

	"mcpd/actors/session"
	"mcpd/supervisor/otp"
)

// held are the requests that a session has taken and neither answered nor passed on yet, because it waits for somebody else's word. It is
// the session's heir only for what happens to an heir when there is nobody left: each goes to the session's next actor then, or is answered.
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
	if len(h.all) == 0 {
		h.all = nil // an idle session keeps no empty map
	}
}

// has reports whether a request still waits: it was neither answered nor cancelled.
func (h *held) has(d *session.Deliver) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.all[d]
	return ok
}

// find lists the requests with that id, as the client wrote it. The handshake is not among them: it cannot be cancelled (2025-11-25
// §basic/utilities/cancellation).
func (h *held) find(id string) (list []*session.Deliver) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for d := range h.all {
		if d.Message.ID.Raw() == id && d.Message.Method != "initialize" {
			list = append(list, d)
		}
	}
	return list
}

func (h *held) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

// Abandon gives what is left to the session's next actor. Where there will be none, it is answered.
func (h *held) Abandon(error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for d := range h.all {
		d.Fail(otp.ErrNoProc)
	}
	h.all = nil
}
