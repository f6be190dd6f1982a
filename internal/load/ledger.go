package load

import (
	"context"
	"errors"
	"sync"
)

// Counts is what became of the calls of a run. Each settled call is in exactly one of OK, Failed, Lost and Crosstalk:
//
//	Sent = OK + Failed + Lost + Crosstalk + calls in flight
type Counts struct {
	Sent      uint64 `json:"sent"`
	OK        uint64 `json:"ok"`        // the reply carried the nonce of the call
	Failed    uint64 `json:"failed"`    // the outcome was an error
	Lost      uint64 `json:"lost"`      // no outcome came in time
	Crosstalk uint64 `json:"crosstalk"` // the reply carried anything but the nonce of the call
	Duplicate uint64 `json:"duplicate"` // outcomes beyond the first, counted beside the four above
}

// Ledger issues nonces and keeps account of the replies. It is safe for concurrent use.
type Ledger struct {
	mu       sync.Mutex // guards the fields below
	run      uint64
	answered []bool // by sequence: a reply with this nonce was seen
	counts   Counts
}

// NewLedger starts the account of one run. Runs that may meet in one server need different numbers.
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

// Outcome is what became of one call.
type Outcome uint8

// Outcomes.
const (
	OK        Outcome = iota // the reply carried the nonce of the call
	Failed                   // the outcome was an error
	Lost                     // no outcome came in time
	Crosstalk                // the reply carried anything but the nonce of the call
)

// Settle books what the call of the issued nonce sent came to, and returns it. Doubled says that there was more than one outcome, to this call or
// to that whose reply it got.
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

// seen marks the call whose nonce this is as answered and reports whether it was before. A nonce of another run, or none, is unknown.
func (l *Ledger) seen(n Nonce) bool {
	run, sequence, ok := n.parts()
	if !ok || run != l.run || sequence >= uint64(len(l.answered)) {
		return false
	}
	before := l.answered[sequence]
	l.answered[sequence] = true
	return before
}

// Counts returns the account so far.
func (l *Ledger) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}
