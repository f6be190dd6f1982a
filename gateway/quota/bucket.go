// Package quota counts what callers use against what they may use, on a given clock.
//
// It does not know who a caller is, what a request is, or what refusing one looks like.
package quota

import "time"

// Rate is how fast a bucket fills and how much it holds.
type Rate struct {
	Every time.Duration // one token each
	Burst int           // tokens in a full bucket
}

// Bucket is a token bucket. The zero value is full. Its owner guards it.
type Bucket struct {
	full time.Time // when it will be full again, were nothing more taken
}

// Wait returns how long until the bucket holds a token; 0 means that it does.
func (b Bucket) Wait(now time.Time, r Rate) time.Duration {
	if b.Full(now) {
		return 0
	}
	return max(0, b.full.Sub(now)-time.Duration(r.Burst-1)*r.Every)
}

// Take removes a token, or returns how long to wait for one.
func (b *Bucket) Take(now time.Time, r Rate) (wait time.Duration) {
	if wait = b.Wait(now, r); wait > 0 {
		return wait
	}
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(r.Every)
	return 0
}

// Full says that nothing is missing, so that the bucket may be forgotten.
func (b Bucket) Full(now time.Time) bool { return !b.full.After(now) }
