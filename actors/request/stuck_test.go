package request_test

import (
	"testing"
	"time"

	"mcpd/actors/internal/stage"
	"mcpd/actors/request"
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
		held.Take(&request.Hold{Ref: r.Ref("conn"), Incarnation: 1})
		next.Take(&request.Hold{Ref: r.Ref("conn"), Incarnation: 2})
		r.send(otp.Down{Ref: r.Ref("conn"), Incarnation: 1, Reason: otp.ErrStuck})
		r.Rest()
		if out1.Word() == "none" || out2.Word() != "none" || out3.Word() != "none" {
			t.Errorf("outcomes %v, %v, %v", out1.Word(), out2.Word(), out3.Word())
		}
	})
}

// What a connection had handed to another instance of its server is that one's: it goes on when the connection hangs, is withdrawn there, and ends when that
// one hangs too, though nobody is left who knew of it.
func TestAStuckConnectionLosesNothingOfItsInstances(t *testing.T) {
	run(t, func(r *rig) {
		first, out1 := r.submit("s")
		second, out2 := r.submit("s")
		third, out3 := r.submit("s")
		other := r.Ref("other")
		for _, x := range []*request.Exchange{first, second} {
			x.Take(&request.Hold{Ref: r.Ref("conn"), Incarnation: 1})
			x.Take(&request.Hold{Ref: other, Incarnation: 1})
		}
		third.Take(&request.Hold{Ref: other}) // it waits there
		r.send(otp.Down{Ref: r.Ref("conn"), Incarnation: 1, Reason: otp.ErrStuck})
		r.Rest()
		if out1.Word() != "none" || out2.Word() != "none" || out3.Word() != "none" {
			t.Fatalf("outcomes %v, %v, %v", out1.Word(), out2.Word(), out3.Word())
		}
		r.send(request.NewCancel(r.Ref("manager"), first.ID))
		r.Rest()
		if got := stage.Of[*request.Withdraw](&r.other.Log); len(got) != 1 || got[0].ID != first.ID || len(r.withdrawn()) != 0 {
			t.Errorf("the instance was told %v, the connection %v", got, r.withdrawn())
		}
		letGo := r.Stalls.Arm("other", "int")
		r.Send("other", 1)
		time.Sleep(otp.DefaultHard + 2*time.Second)
		letGo()
		if out2.Word() == "none" || out3.Word() != "none" {
			t.Errorf("outcomes %v, %v when the instance hung too", out2.Word(), out3.Word())
		}
	})
}
