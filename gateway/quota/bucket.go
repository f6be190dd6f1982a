// Package quota counts the resources that callers use against their limits, on a given clock.
//
// It does not know who a caller is, what a request is, or what a refusal looks like to a client.
package quota

import "time"

// Rate is the fill rate and the capacity of a bucket.
type Rate struct {
	Every time.Duration // time to add one token
	Burst int           // tokens in a full bucket
}

// Bucket is a token bucket. The zero value is full. Its owner must guard it against concurrent
// use.
type Bucket struct {
	// full is when the bucket will be full again if no token is taken until then.
	full time.Time
}

// Wait returns how long it takes until the bucket holds a token; 0 means that it holds one.
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

// Full reports whether the bucket is full, so that it may be forgotten.
func (b Bucket) Full(now time.Time) bool { return !b.full.After(now) }
