package request_test

import (
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/supervisor/otp"
)

// A manager that is stuck amid a message is replaced, and all that it held continues: exchanges in
// flight with their deadlines, and the messages in its mailbox. Only the message at which it is
// stuck fails, at once. When the stuck incarnation returns, it has no effect.
func TestAStuckManagerLosesOnlyWhatItIsStuckAt(t *testing.T) {
	run(t, func(r *rig) {
		first, out1 := r.submit("s")
		stall := make(chan struct{})
		r.stalls.Store(&stall)
		second, out2 := r.submit("s")
		third, out3 := r.submit("s")
		r.stalls.Store(nil)
		time.Sleep(otp.DefaultHardTimeout + 200*time.Millisecond)
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

// The exchanges held by a stuck connection end with it. Those that its successor has taken before
// the manager learns of it continue, and so do those that no incarnation has taken.
func TestAStuckConnectionLosesOnlyWhatItHadInHand(t *testing.T) {
	run(t, func(r *rig) {
		held, out1 := r.submit("s")
		next, out2 := r.submit("s")
		_, out3 := r.submit("s")
		held.SetHolder(&request.Holder{Ref: r.Ref("conn"), Incarnation: 1})
		next.SetHolder(&request.Holder{Ref: r.Ref("conn"), Incarnation: 2})
		r.send(otp.Down{Ref: r.Ref("conn"), Incarnation: 1, Reason: otp.ErrStuck})
		r.WaitIdle()
		if out1.Word() == "none" || out2.Word() != "none" || out3.Word() != "none" {
			t.Errorf("outcomes %v, %v, %v", out1.Word(), out2.Word(), out3.Word())
		}
	})
}

// Exchanges that a connection has handed to another instance of its server belong to that instance.
// They continue when the first connection hangs, are withdrawn at the instance, and end when the
// instance hangs too, though the first connection is gone.
func TestAStuckConnectionLosesNothingOfItsInstances(t *testing.T) {
	run(t, func(r *rig) {
		first, out1 := r.submit("s")
		second, out2 := r.submit("s")
		third, out3 := r.submit("s")
		other := r.Ref("other")
		for _, x := range []*request.Exchange{first, second} {
			x.SetHolder(&request.Holder{Ref: r.Ref("conn"), Incarnation: 1})
			x.SetHolder(&request.Holder{Ref: other, Incarnation: 1})
		}
		third.SetHolder(&request.Holder{Ref: other}) // it waits there
		r.send(otp.Down{Ref: r.Ref("conn"), Incarnation: 1, Reason: otp.ErrStuck})
		r.WaitIdle()
		if out1.Word() != "none" || out2.Word() != "none" || out3.Word() != "none" {
			t.Fatalf("outcomes %v, %v, %v", out1.Word(), out2.Word(), out3.Word())
		}
		r.send(request.NewCancel(r.Ref("manager"), first.ID))
		r.WaitIdle()
		if got := testrig.Of[*request.Withdraw](&r.other.Log); len(got) != 1 || got[0].ID != first.ID ||
			len(r.withdrawn()) != 0 {
			t.Errorf("the instance was told %v, the connection %v", got, r.withdrawn())
		}
		letGo := r.Stalls.Arm("other", "int")
		r.Send("other", 1)
		time.Sleep(otp.DefaultHardTimeout + 2*time.Second)
		letGo()
		if out2.Word() == "none" || out3.Word() != "none" {
			t.Errorf("outcomes %v, %v when the instance hung too", out2.Word(), out3.Word())
		}
	})
}
