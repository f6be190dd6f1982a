package server

import (
	"cmp"
	"iter"
	"sync"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/session"
	"mcpd/gateway/quota"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// pendingRequests are the requests that a session has accepted and neither answered nor passed on,
// because it waits for another actor. It is the session's carried state, but no incarnation
// restores it: when an incarnation ends, each request goes to the session's next actor, or is
// answered.
type pendingRequests struct {
	// called with the change in the number of requests for whose outcome a client waits
	addInFlight func(more int)
	quota       *quota.Account // quota account of the tenant
	// guards the fields below; an actor that hangs may still run while it is abandoned
	mu sync.Mutex
	// everything was handed to others; requests that come later are not kept
	abandoned bool
	all       map[*session.Deliver]uint64 // order of arrival, by request
	added     uint64
	// bytes are the quota reservations of the requests.
	bytes map[*session.Deliver]*quota.Reservation
	// questions are those for calls whose actors are being started, by exchange.
	questions map[uint64][]*client.Question
	// notifications are notifications of the client for which there is no connection yet.
	notifications map[*pendingNotification]bool
}

// add keeps a request and returns its number in the order of arrival.
func (w *pendingRequests) add(d *session.Deliver) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.abandoned {
		return 0
	}
	if w.all == nil {
		w.all, w.bytes = map[*session.Deliver]uint64{}, map[*session.Deliver]*quota.Reservation{}
	}
	if _, ok := w.all[d]; !ok {
		w.addInFlight(awaited(d))
		if w.bytes[d] = d.TakeReservation(); w.bytes[d] == nil {
			w.bytes[d] = w.quota.Count(quota.Requests, 0)
		}
		w.bytes[d].Resize(len(d.Message.Params) + d.Copied)
	}
	w.added++
	w.all[d] = w.added
	return w.added
}

// copied adds n bytes to a request's reservation, if it waits or is going to: the size of the copy
// for its server.
func (w *pendingRequests) copied(d *session.Deliver, n int) {
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

// remove forgets a request that was answered or passed on, and releases its reservation.
func (w *pendingRequests) remove(d *session.Deliver) { w.take(d).Release() }

// take forgets a request that is passed on, and hands over its reservation; nil if it was not
// waiting.
func (w *pendingRequests) take(d *session.Deliver) *quota.Reservation {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.all[d]; ok {
		w.addInFlight(-awaited(d))
	}
	bytes := w.bytes[d]
	delete(w.all, d)
	delete(w.bytes, d)
	if len(w.all) == 0 {
		w.all, w.bytes = nil, nil // an idle session keeps no empty map
	}
	return bytes
}

// inOrder yields the requests in their order of arrival.
func (w *pendingRequests) inOrder() iter.Seq2[*session.Deliver, uint64] {
	return sortedmap.SortedBy(
		w.all,
		func(a, b *session.Deliver) int { return cmp.Compare(w.all[a], w.all[b]) },
	)
}

// has reports whether a request still waits, neither answered nor cancelled.
func (w *pendingRequests) has(d *session.Deliver) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.all[d]
	return ok
}

// find lists the waiting requests with the id that the client wrote. The handshake is not among
// them, because it cannot be cancelled (2025-11-25 §basic/utilities/cancellation).
func (w *pendingRequests) find(id string) (list []*session.Deliver) {
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
func (w *pendingRequests) of(out transport.Sink) *session.Deliver {
	w.mu.Lock()
	defer w.mu.Unlock()
	for d := range w.all {
		if d.Out == out {
			return d
		}
	}
	return nil
}

// list is all requests, in their order of arrival.
func (w *pendingRequests) list() (all []*session.Deliver) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for d := range w.inOrder() {
		all = append(all, d)
	}
	return all
}

func (w *pendingRequests) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

// Detach takes the requests from an actor that is stuck. That actor then finds none, as if all were
// cancelled. It returns nil while the actor holds the lock.
func (w *pendingRequests) Detach() any {
	if !w.mu.TryLock() {
		return nil
	}
	defer w.mu.Unlock()
	next := &pendingRequests{
		addInFlight: w.addInFlight,
		quota:       w.quota,
		all:         w.all,
		bytes:       w.bytes,
		added:       w.added,
		questions:   w.questions,
	}
	w.all, w.bytes, w.questions, w.abandoned = nil, nil, nil, true
	w.dropNotifications()
	return next
}

// Abandon gives the remaining requests to the session's next actor. If there will be none, the
// requests and the questions are answered with errors.
func (w *pendingRequests) Abandon(error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for d := range w.inOrder() {
		w.addInFlight(-awaited(d))
		w.bytes[d].Release() // before the next actor reserves it
		d.Fail(otp.ErrNoProc)
	}
	w.all, w.bytes, w.abandoned = nil, nil, true
	w.dropNotifications()
	for _, kept := range sortedmap.Sorted(w.questions) {
		for _, q := range kept {
			q.Fail(protocol.Overloaded("question queue", time.Second))
			release(q.Exchange)
		}
	}
	w.questions = nil
}
