package transport

import (
	"context"
	"time"
)

// The rate limit of unsolicited input: PaceMost parts of up to PacePart bytes per PaceSpan, which
// is 4,000 parts and 16 MB per second.
const (
	PaceMost = 16
	PaceSpan = 4 * time.Millisecond
	PacePart = 4 << 10 // bytes in a part
	// PaceMessage is how many parts are exempt per message: the fields of its event, and a comment or
	// an empty line.
	PaceMessage = 4
)

// RateLimiter rate-limits the reading of unsolicited input: stray lines, comments, standard error.
// A server that floods the host has to wait, and takes no processor time from others
// (docs/adr/0027).
type RateLimiter struct {
	// steps counts the parts in the current span; exempt ones make it negative.
	steps int
	began time.Time // when the first of them was read
}

// Spare exempts so many parts, among those already read or else the next ones.
func (p *RateLimiter) Spare(parts int) { p.steps = min(p.steps, max(p.steps, 0)-parts) }

// Take counts parts, and returns how long the reader must rest then.
func (p *RateLimiter) Take(parts int, now time.Time) time.Duration {
	if p.steps <= 0 {
		p.began = now
	}
	if p.steps += parts; p.steps < PaceMost {
		return 0
	}
	rest := time.Duration(p.steps/PaceMost)*PaceSpan - min(max(now.Sub(p.began), 0), PaceSpan)
	p.steps %= PaceMost
	p.began = now.Add(rest)
	return rest
}

// Parts returns the number of parts in so many bytes.
func Parts(length int) int { return 1 + length/PacePart }

// Rest waits for so long, or until ctx ends.
func Rest(ctx context.Context, long time.Duration) {
	if long <= 0 {
		return
	}
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
