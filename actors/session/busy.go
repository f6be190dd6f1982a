package session

import (
	"math"
	"time"
)

// retiring is what Handle.arriving is far below while the manager ends a session that looked idle.
const retiring = math.MinInt64 / 2

// Busy reports whether the session has work in flight or an open stream. Such a session is never
// ended to make room for another.
func (h *Handle) Busy() bool { return h.arriving.Load() != 0 || h.works() }

// works is Busy for all but the messages that its actor has not looked at.
func (h *Handle) works() bool {
	greets := h.Record() == nil || h.ref.Load() == nil && !h.asleep.Load()
	return greets || h.InFlight() || h.calls.Busy() || h.questions.any() || h.streaming()
}

// streaming reports whether the session has a stream open.
func (h *Handle) streaming() bool {
	return h.listens.Load() > 0 || !h.Streamed() || h.streams.Open() > 0
}

// Away is how long the client has had neither a request in flight nor a stream open, 0 while it has.
func (h *Handle) Away(now time.Time) time.Duration {
	if h.arriving.Load() != 0 || h.InFlight() || h.calls.Busy() || h.streaming() {
		return 0
	}
	return max(h.Idle(now), 1)
}

// Unreached is how long the client has had no stream open on which it could be asked something, 0
// while it has.
func (h *Handle) Unreached(now time.Time) time.Duration {
	if !h.Streamed() || h.streams.Connected() {
		return 0
	}
	return max(h.Idle(now), 1)
}

// enter notes a message on its way to the session's actor. It is false once the session is ended.
func (h *Handle) enter() bool {
	if h.arriving.Add(1) > 0 {
		return true
	}
	h.arriving.Add(-1)
	return false
}

// leave takes back enter.
func (h *Handle) leave() { h.arriving.Add(-1) }

// retire closes the session unless it is busy, and reports whether it did. A message that arrives
// meanwhile either finds it closed or keeps it: see enter.
func (h *Handle) retire() bool {
	if h.works() || !h.arriving.CompareAndSwap(0, retiring) {
		return false
	}
	if h.works() { // a message had come, and its actor has made work of it
		h.arriving.Add(-retiring)
		return false
	}
	h.closed.Store(true)
	return true
}
