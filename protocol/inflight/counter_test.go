package inflight_test

import (
	"errors"
	"testing"

	"mcpd/protocol"
	"mcpd/protocol/inflight"
)

// S4-127, S4-128, C14: a warning at 80 %, replacement at 90 %, refusal from 96 % on. The counter
// never wraps around.
func TestCounterThresholds(t *testing.T) {
	for _, tc := range []struct {
		next uint64
		want string
		err  bool
	}{
		{0, "plenty", false},
		{1, "plenty", false},
		{protocol.WarnRequestID - 1, "plenty", false},
		{protocol.WarnRequestID, "warn", false},
		{protocol.ReplaceRequestID - 1, "warn", false},
		{protocol.ReplaceRequestID, "replace", false},
		{protocol.ReservedRequestID - 1, "replace", false},
		{protocol.ReservedRequestID, "reserved", false}, // the last id
		{protocol.ReservedRequestID + 1, "reserved", true},
		{protocol.MaxRequestID + 1, "reserved", true},
		{1<<64 - 1, "reserved", true},
	} {
		c := inflight.NewCounterAt(tc.next)
		id, level, err := c.Next()
		if level.String() != tc.want || errors.Is(err, inflight.ErrExhausted) != tc.err {
			t.Errorf("%d: got %v, %v; want %s", tc.next, level, err, tc.want)
		}
		if n, ok := id.Int(); ok == tc.err || ok && n != max(tc.next, 1) {
			t.Errorf("%d: got id %v", tc.next, id)
		}
	}
}

func TestCounterNeverRepeats(t *testing.T) {
	var c inflight.Counter
	for want := uint64(1); want <= 1000; want++ {
		id, _, err := c.Next()
		if n, _ := id.Int(); n != want || err != nil {
			t.Fatalf("got %v, %v; want %d", id, err, want)
		}
	}
	if c.Last() != 1000 || c.Level() != inflight.Normal {
		t.Errorf("got %d, %v", c.Last(), c.Level())
	}
	half := inflight.NewCounterAt(1 << 52)
	if u := half.Usage(); u < 0.49 || u > 0.51 {
		t.Errorf("got %v, want about a half", u)
	}
}
