package request_test

import (
	"testing"
	"time"

	"mcpd/supervisor/otp"
)

// A manager that is stuck halfway through a message is replaced, and everything in its hands goes on: what is in flight with its deadline, what waits
// in its turn. Only what it is stuck at fails, at once. When it comes back it does nothing more.
func TestAStuckManagerLosesOnlyWhatItIsStuckAt(t *testing.T) {
	run(t, func(r *rig) {
		first, out1 := r.submit("s")
		stall := make(chan struct{})
		r.stalls.Store(&stall)
		second, out2 := r.submit("s")
		third, out3 := r.submit("s")
		r.stalls.Store(nil)
		time.Sleep(otp.DefaultHard + 200*time.Millisecond)
		if out1.Word() != "none" || out2.Word() != int64(-32603) || out3.Word() != "none" {
			t.Errorf("outcomes %v, %v, %v", out1.Word(), out2.Word(), out3.Word())
		}
		if got := r.Ref("manager").Incarnation(); got != 2 {
			t.Errorf("incarnation %d", got)
		}
		r.complete(first, `{}`)
		close(stall)
		r.complete(third, `{}`)
		r.complete(second, `{}`)
		time.Sleep(time.Minute)
		if out1.Word() != "result" || len(out2.All()) != 1 || out3.Word() != "result" {
			t.Errorf("outcomes %v, %v, %v", out1.All(), out2.All(), out3.All())
		}
		if got := r.written(); len(got) != 2 || got[0] != first || got[1] != third {
			t.Errorf("%d handed to the connection, want the first and the third", len(got))
		}
		if n := len(r.done()); n != 3 {
			t.Errorf("the session was told %d ends", n)
		}
	})
}

// What a connection had in hand that is stuck ends with it; what its successor has taken by the time that the manager hears of it goes on, and so does
// what nobody has taken.
func TestAStuckConnectionLosesOnlyWhatItHadInHand(t *testing.T) {
	run(t, func(r *rig) {
		held, out1 := r.submit("s")
		next, out2 := r.submit("s")
		_, out3 := r.submit("s")
		held.Take(1)
		next.Take(2)
		r.send(otp.Down{Ref: r.Ref("conn"), Incarnation: 1, Reason: otp.ErrStuck})
		r.Rest()
		if out1.Word() == "none" || out2.Word() != "none" || out3.Word() != "none" {
			t.Errorf("outcomes %v, %v, %v", out1.Word(), out2.Word(), out3.Word())
		}
	})
}
