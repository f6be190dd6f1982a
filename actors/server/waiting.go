package server

import (
	"cmp"
	"iter"
	"sync"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/session"
	"mcpd/gateway/quota"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// waiting are the requests that a session has taken and neither answered nor passed on yet, because
// it waits for somebody else's word. It is the session's heir only for what happens to an heir when
// there is nobody left: each goes to the session's next actor then, or is answered.
type waiting struct {
	// is told how many there are that somebody waits for the outcome of
	waits func(more int)
	kept  *quota.Account // what the tenant keeps
	// guards what follows; a session that hangs is abandoned while it runs
	mu sync.Mutex
	// all of it was given to others, and so is whatever comes later
	over  bool
	all   map[*session.Deliver]uint64 // and in which order they came
	added uint64
	// bytes is what each counts for the tenant.
	bytes map[*session.Deliver]*quota.Reservation
	// questions are those for calls whose actors are being started, by exchange.
	questions map[uint64][]*client.Question
	// tells are notifications of the client for which there is no connection yet.
	tells map[*telling]bool
}

// add keeps a request and says the how manieth it is.
func (w *waiting) add(d *session.Deliver) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return 0
	}
	if w.all == nil {
		w.all, w.bytes = map[*session.Deliver]uint64{}, map[*session.Deliver]*quota.Reservation{}
	}
	if _, ok := w.all[d]; !ok {
		w.waits(awaited(d))
		if w.bytes[d] = d.Keep(); w.bytes[d] == nil {
			w.bytes[d] = w.kept.Hold(quota.Requests, 0)
		}
		w.bytes[d].Resize(len(d.Message.Params) + d.Copied)
	}
	w.added++
	w.all[d] = w.added
	return w.added
}

// copied counts n bytes more of a request, if it waits or will: those of the copy that its server
// is to get.
func (w *waiting) copied(d *session.Deliver, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d.Copied = n
	w.bytes[d].Resize(len(d.Message.Params) + n)
}

// awaited is 1 for a request that ends by itself, and 0 for a subscription.
func awaited(d *session.Deliver) int {
	if d.Message.Method == "subscriptions/listen" {
		return 0
	}
	return 1
}

// remove lets go of a request that is answered or passed on.
func (w *waiting) remove(d *session.Deliver) { w.take(d).Release() }

// take lets go of a request that is passed on, and hands over what it counts for the tenant; nil
// when it did not wait.
func (w *waiting) take(d *session.Deliver) *quota.Reservation {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.all[d]; ok {
		w.waits(-awaited(d))
	}
	bytes := w.bytes[d]
	delete(w.all, d)
	delete(w.bytes, d)
	if len(w.all) == 0 {
		w.all, w.bytes = nil, nil // an idle session keeps no empty map
	}
	return bytes
}

// inOrder goes through them as they came.
func (w *waiting) inOrder() iter.Seq2[*session.Deliver, uint64] {
	return order.By(
		w.all,
		func(a, b *session.Deliver) int { return cmp.Compare(w.all[a], w.all[b]) },
	)
}

// has reports whether a request still waits: it was neither answered nor cancelled.
func (w *waiting) has(d *session.Deliver) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.all[d]
	return ok
}

// find lists the requests with that id, as the client wrote it. The handshake is not among them: it
// cannot be cancelled (2025-11-25 §basic/utilities/cancellation).
func (w *waiting) find(id string) (list []*session.Deliver) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for d := range w.inOrder() {
		if d.Message.ID.Raw() == id && d.Message.Method != "initialize" {
			list = append(list, d)
		}
	}
	return list
}

// of finds the request whose outcome goes to out.
func (w *waiting) of(out transport.Sink) *session.Deliver {
	w.mu.Lock()
	defer w.mu.Unlock()
	for d := range w.all {
		if d.Out == out {
			return d
		}
	}
	return nil
}

// list is all of them, as they came.
func (w *waiting) list() (all []*session.Deliver) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for d := range w.inOrder() {
		all = append(all, d)
	}
	return all
}

func (w *waiting) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

// Fence takes it from an actor that is stuck. That one finds nothing any more, as if everything
// were cancelled.
func (w *waiting) Fence() any {
	if !w.mu.TryLock() {
		return nil
	}
	defer w.mu.Unlock()
	next := &waiting{
		waits:     w.waits,
		kept:      w.kept,
		all:       w.all,
		bytes:     w.bytes,
		added:     w.added,
		questions: w.questions,
	}
	w.all, w.bytes, w.questions, w.over = nil, nil, nil, true
	w.dropTells()
	return next
}

// Abandon gives what is left to the session's next actor. Where there will be none, it is answered;
// so are questions.
func (w *waiting) Abandon(error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for d := range w.inOrder() {
		w.waits(-awaited(d))
		w.bytes[d].Release() // before the next actor counts it
		d.Fail(otp.ErrNoProc)
	}
	w.all, w.bytes, w.over = nil, nil, true
	w.dropTells()
	for _, kept := range order.Of(w.questions) {
		for _, q := range kept {
			q.Fail(protocol.Overloaded("questions of servers", time.Second))
			release(q.Exchange)
		}
	}
	w.questions = nil
}
