package load

import (
	"context"
	"errors"
	"sync"
)

// Counts counts the calls of a run by outcome. Each settled call is in exactly one of OK, Failed,
// Lost and Crosstalk:
//
//	Sent = OK + Failed + Lost + Crosstalk + calls in flight
type Counts struct {
	Sent      uint64 `json:"sent"`
	OK        uint64 `json:"ok"`        // the reply carried the nonce of the call
	Failed    uint64 `json:"failed"`    // the outcome was an error
	Lost      uint64 `json:"lost"`      // no outcome came in time
	Crosstalk uint64 `json:"crosstalk"` // the reply carried anything but the nonce of the call
	// outcomes beyond the first, counted in addition to the four above
	Duplicate uint64 `json:"duplicate"`
}

// Ledger issues nonces and counts the replies. It is safe for concurrent use.
type Ledger struct {
	mu       sync.Mutex // guards the fields below
	run      uint64
	answered []bool // by sequence: a reply with this nonce was seen
	counts   Counts
}

// NewLedger returns a ledger for one run. Runs whose calls may meet in one server need different
// numbers.
func NewLedger(run uint64) *Ledger { return &Ledger{run: run} }

// Issue returns a nonce that was not issued before.
func (l *Ledger) Issue() Nonce {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := newNonce(l.run, l.counts.Sent)
	l.counts.Sent++
	l.answered = append(l.answered, false)
	return n
}

// Outcome is the outcome of one call.
type Outcome uint8

// The outcomes of calls.
const (
	OK        Outcome = iota // the reply carried the nonce of the call
	Failed                   // the outcome was an error
	Lost                     // no outcome came in time
	Crosstalk                // the reply carried anything but the nonce of the call
)

// Settle records the outcome of the call with the nonce sent, and returns it. The result doubled
// says that this call, or the call whose reply it got, had more than one outcome.
func (l *Ledger) Settle(sent, got Nonce, err error) (is Outcome, doubled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case errors.Is(err, ErrDuplicate):
		l.counts.Duplicate++
		doubled = true
	case errors.Is(err, ErrNoReply), errors.Is(err, context.DeadlineExceeded):
		l.counts.Lost++
		return Lost, false
	case err != nil:
		l.counts.Failed++
		return Failed, false
	}
	if l.seen(got) {
		l.counts.Duplicate++
		doubled = true
	}
	if got != sent {
		l.counts.Crosstalk++
		return Crosstalk, doubled
	}
	l.counts.OK++
	return OK, doubled
}

// seen marks the call with this nonce as answered, and reports whether it already was. It returns
// false for an unknown nonce.
func (l *Ledger) seen(n Nonce) bool {
	run, sequence, ok := n.parts()
	if !ok || run != l.run || sequence >= uint64(len(l.answered)) {
		return false
	}
	before := l.answered[sequence]
	l.answered[sequence] = true
	return before
}

// Counts returns the counts so far.
func (l *Ledger) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}
