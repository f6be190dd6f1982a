package quota

import (
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what is sent once more. A server that is well has none of it; one that dies of its calls gets no more of them by dying.
const (
	RetryPercent = 10 // of what is sent for the first time
	MaxRetries   = 64 // one right after the other
	LeastRetries = 10 // in a minute, for a server that has few calls
)

// oneRetry is what a retry costs, where a call that is sent for the first time earns RetryPercent.
const oneRetry = 100

// Retries is the budget of what is sent to one server once more. The zero Retries is ready. It is safe for concurrent use, and a call that
// is sent for the first time waits for nobody.
type Retries struct {
	left atomic.Int64

	mu     sync.Mutex // guards what follows
	minute time.Time  // when there were LeastRetries last
}

// Sent counts a call that is sent for the first time.
func (r *Retries) Sent() {
	if r.left.Load() < MaxRetries*oneRetry {
		r.left.Add(RetryPercent)
	}
}

// Take reports whether one may be sent once more, and counts it.
func (r *Retries) Take(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.minute) >= time.Minute {
		r.minute = now
		r.left.Add(max(0, LeastRetries*oneRetry-r.left.Load()))
	}
	if r.left.Load() < oneRetry {
		return false
	}
	r.left.Add(-oneRetry)
	return true
}
