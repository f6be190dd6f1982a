package load

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Every way in which a call can end is counted exactly once.
func TestSettleCountsEachEndingOnce(t *testing.T) {
	refused := errors.New("error -32602: unknown tool")
	tests := []struct {
		name string
		got  func(sent, other Nonce) Nonce
		err  error
		want Counts
	}{
		{"own nonce", func(sent, _ Nonce) Nonce { return sent }, nil, Counts{Sent: 2, OK: 1}},
		{"nonce of another call", func(_, other Nonce) Nonce {
			return other
		}, nil, Counts{Sent: 2, Crosstalk: 1}},
		{"nonce of another run", func(Nonce, Nonce) Nonce {
			return newNonce(8, 0)
		}, nil, Counts{Sent: 2, Crosstalk: 1}},
		{"no nonce", func(Nonce, Nonce) Nonce { return "hello" }, nil, Counts{Sent: 2, Crosstalk: 1}},
		{"two replies", func(sent, _ Nonce) Nonce {
			return sent
		}, ErrDuplicate, Counts{Sent: 2, OK: 1, Duplicate: 1}},
		{"an error", func(Nonce, Nonce) Nonce { return "" }, refused, Counts{Sent: 2, Failed: 1}},
		{"a closed stream", func(Nonce, Nonce) Nonce {
			return ""
		}, fmt.Errorf("post: %w", ErrNoReply), Counts{Sent: 2, Lost: 1}},
		{"a timeout", func(Nonce, Nonce) Nonce {
			return ""
		}, fmt.Errorf("post: %w", context.DeadlineExceeded), Counts{Sent: 2, Lost: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := NewLedger(7)
			sent, other := l.Issue(), l.Issue()
			is, doubled := l.Settle(sent, test.got(sent, other), test.err)
			if got := l.Counts(); got != test.want {
				t.Errorf("counts = %+v, want %+v", got, test.want)
			}
			if want := map[bool]Outcome{test.want.OK == 1: OK, test.want.Failed == 1: Failed,
				test.want.Lost == 1: Lost, test.want.Crosstalk == 1: Crosstalk}[true]; is != want {
				t.Errorf("outcome = %v with counts %+v", is, test.want)
			}
			if doubled != (test.want.Duplicate == 1) {
				t.Errorf("doubled = %t with counts %+v", doubled, test.want)
			}
		})
	}
}

// A server that sends one reply to two callers has answered one call twice, and the other with a
// wrong reply.
func TestReplySeenTwiceIsDuplicate(t *testing.T) {
	l := NewLedger(1)
	first, second := l.Issue(), l.Issue()
	l.Settle(first, first, nil)
	l.Settle(second, first, nil)
	if got, want := l.Counts(), (Counts{Sent: 2, OK: 1, Crosstalk: 1, Duplicate: 1}); got != want {
		t.Errorf("counts = %+v, want %+v", got, want)
	}
}

// However replies are mixed up, every call is counted exactly once, and a reply is OK exactly if it
// is the call's own.
func TestLedgerBalances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewLedger(rapid.Uint64().Draw(t, "run"))
		nonces := make([]Nonce, rapid.IntRange(1, 50).Draw(t, "calls"))
		for i := range nonces {
			nonces[i] = l.Issue()
		}
		replies := rapid.Permutation(nonces).Draw(t, "replies")
		fixed := uint64(0)
		for i, sent := range nonces {
			if sent == replies[i] {
				fixed++
			}
			l.Settle(sent, replies[i], nil)
		}
		n := uint64(len(nonces))
		if got, want := l.Counts(), (Counts{Sent: n, OK: fixed, Crosstalk: n - fixed}); got != want {
			t.Fatalf("counts = %+v, want %+v", got, want)
		}
	})
}

func TestNoncesAreReadBackAndNothingElseIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run, sequence := rapid.Uint64().Draw(t, "run"), rapid.Uint64().Draw(t, "sequence")
		r, s, ok := newNonce(run, sequence).parts()
		if r != run || s != sequence || !ok {
			t.Fatalf("parts = %d, %d, %t, want %d, %d", r, s, ok, run, sequence)
		}
		text := rapid.StringMatching(`n?[0-9a-zA-Z+-]{0,6}-?[0-9a-z_]{0,6}`).Draw(t, "text")
		if r, s, ok := Nonce(text).parts(); ok && newNonce(r, s) != Nonce(text) {
			t.Fatalf("%q read as %d, %d", text, r, s)
		}
	})
}
