package client

import (
	"slices"
	"time"

	"mcpd/gateway/tenant"
)

// backoff spaces what a server makes the host do again. The first time is at once. Each time that
// follows closely waits twice as long as the one before, up to last. After twice the wait without
// any, it begins anew.
type backoff struct {
	first, last time.Duration
	gap         time.Duration // the wait for the next
	at          time.Time     // when it was done last
}

// next returns how long to wait before it is done again.
func (p *backoff) next(now time.Time) (wait time.Duration) {
	if p.gap == 0 || now.Sub(p.at) >= 2*p.gap {
		p.gap = p.first
	}
	if wait = p.gap - now.Sub(p.at); wait <= 0 || p.at.IsZero() {
		return 0
	}
	p.gap = min(2*p.gap, p.last)
	return wait
}

// afterFailure returns how long to wait before it is done again if the last time was useless.
// Unlike in next, the time since then does not matter.
func (p *backoff) afterFailure() (wait time.Duration) {
	if p.gap == 0 {
		p.gap = p.first
		return 0
	}
	wait = p.gap
	p.gap = min(2*p.gap, p.last)
	return wait
}

// limit shortens the wait for the next.
func (p *backoff) limit(wait time.Duration) { p.gap = min(p.gap, wait) }

// record records when it was done.
func (p *backoff) record(now time.Time) { p.at = now }

// slidingLimit is how often something may be done at once, in a sliding window: as often as a
// supervisor restarts a program. The zero value allows nothing.
type slidingLimit struct {
	of    tenant.Intensity
	times []time.Time // within the window, of.Restarts at most
}

// take reports whether it may be done at once now, and counts that.
func (a *slidingLimit) take(now time.Time) bool {
	a.times = slices.DeleteFunc(a.times, func(at time.Time) bool { return now.Sub(at) > a.of.Within })
	if len(a.times) >= a.of.Restarts {
		return false
	}
	a.times = append(a.times, now)
	return true
}
