package session

import (
	"math"
	"time"
)

// retiring is added to Handle.undelivered while the manager ends a session that looked idle. The
// sum stays far below 0.
const retiring = math.MinInt64 / 2

// Busy reports whether the session has work in flight or an open stream. A busy session is never
// ended to make room for another.
func (h *Handle) Busy() bool { return h.undelivered.Load() != 0 || h.hasWork() }

// hasWork is like Busy, but ignores messages that the session's actor has not looked at yet.
func (h *Handle) hasWork() bool {
	greets := h.Record() == nil || h.ref.Load() == nil && !h.dormant.Load()
	return greets || h.InFlight() || h.calls.Busy() || h.questions.any() || h.streaming()
}

// streaming reports whether the session has an open stream.
func (h *Handle) streaming() bool {
	return h.listens.Load() > 0 || !h.Streamed() || h.streams.Open() > 0
}

// Away returns how long the client has had neither a request in flight nor an open stream. It is 0
// while the client has either.
func (h *Handle) Away(now time.Time) time.Duration {
	if h.undelivered.Load() != 0 || h.InFlight() || h.calls.Busy() || h.streaming() {
		return 0
	}
	return max(h.Idle(now), 1)
}

// Unreached returns how long the client has had no open stream on which a server could ask it
// something. It is 0 while the client has one.
func (h *Handle) Unreached(now time.Time) time.Duration {
	if !h.Streamed() || h.streams.Connected() {
		return 0
	}
	return max(h.Idle(now), 1)
}

// enter notes a message on its way to the session's actor. It returns false once the session has
// ended.
func (h *Handle) enter() bool {
	if h.undelivered.Add(1) > 0 {
		return true
	}
	h.undelivered.Add(-1)
	return false
}

// leave undoes enter.
func (h *Handle) leave() { h.undelivered.Add(-1) }

// retire closes the session unless it is busy, and reports whether it closed it. A message that
// arrives meanwhile either finds the session closed or keeps it open: see enter.
func (h *Handle) retire() bool {
	if h.hasWork() || !h.undelivered.CompareAndSwap(0, retiring) {
		return false
	}
	if h.hasWork() { // a message arrived, and the actor has started work on it
		h.undelivered.Add(-retiring)
		return false
	}
	h.closed.Store(true)
	return true
}
