package quota

import (
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the retry budget. A healthy server uses none of it. A server that dies of its calls
// earns no more retries by dying.
const (
	RetryPercent = 10 // retries in percent of first attempts
	MaxRetries   = 64 // retries right after each other
	MinRetries   = 10 // retries in a minute, for a server with few calls
)

// oneRetry is the cost of a retry. A first attempt earns RetryPercent.
const oneRetry = 100

// Retries is the retry budget of one server. The zero Retries is ready to use. It is safe for
// concurrent use, and first attempts do not wait for a lock.
type Retries struct {
	budget atomic.Int64

	mu     sync.Mutex // guards the field below
	minute time.Time  // when there were MinRetries last
}

// Earn counts the first attempt of a call.
func (r *Retries) Earn() {
	if r.budget.Load() < MaxRetries*oneRetry {
		r.budget.Add(RetryPercent)
	}
}

// Take reports whether a call may be retried, and counts the retry.
func (r *Retries) Take(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.minute) >= time.Minute {
		r.minute = now
		r.budget.Add(max(0, MinRetries*oneRetry-r.budget.Load()))
	}
	if r.budget.Load() < oneRetry {
		return false
	}
	r.budget.Add(-oneRetry)
	return true
}
