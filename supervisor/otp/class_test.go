package otp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Messages of each class, with numbers.
type (
	common int
	noise  int
	duty   int
)

func (noise) Class() Class { return BestEffort }
func (duty) Class() Class  { return Reserved }

// A flood of sheddable messages leaves half of the mailbox to ordinary ones. A flood of ordinary
// messages causes no refusal of a reserved one. All accepted messages are handled in the
// order in which they were sent.
func TestClassDecidesHowFullAMailboxMayBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		gate := make(chan struct{})
		var handled []any
		r.tree, r.err = r.sys.Start(context.Background(), "top",
			oneChild(Child{ID: "a", Mailbox: 10,
				Start: scriptWorker(script{receive: func(_ *Process, msg any) error {
					if msg == "block" {
						<-gate
						return nil
					}
					handled = append(handled, msg)
					return nil
				}})}))
		ref := r.ref("a")
		_ = ref.Send("block")
		synctest.Wait()
		var want []any
		flood := func(accept int, make func(n int) any) {
			t.Helper()
			accepted := 0
			for n := range 20 {
				switch msg := make(n); ref.Send(msg) {
				case nil:
					accepted++
					want = append(want, msg)
				case ErrOverloaded:
				default:
					t.Errorf("%v: an unknown error", msg)
				}
			}
			if accepted != accept {
				t.Errorf("%T: %d accepted, want %d", make(0), accepted, accept)
			}
		}
		flood(5, func(n int) any { return noise(n) })
		if over := ofType[Overloaded](r); len(over) != 1 {
			t.Errorf("%d events of refusals, want one", len(over))
		}
		flood(5, func(n int) any { return common(n) })
		flood(20, func(n int) any { return duty(n) })
		flood(0, func(n int) any { return noise(n) })
		flood(0, func(n int) any { return common(n) })
		close(gate)
		synctest.Wait()
		if len(handled) != len(want) {
			t.Fatalf("%d handled, want %d", len(handled), len(want))
		}
		for i := range want {
			if handled[i] != want[i] {
				t.Errorf("%d: %v, want %v", i, handled[i], want[i])
			}
		}
	})
}

// Reserved messages, and those that the process has asked for, take no room from messages of
// others: a burst of ends refuses no begin.
func TestWhatNeedsNoRoomTakesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		gate := make(chan struct{})
		r.tree, r.err = r.sys.Start(context.Background(), "top",
			oneChild(Child{ID: "a", Mailbox: 10,
				Start: scriptWorker(script{receive: func(p *Process, msg any) error {
					if msg == "block" {
						for n := range 20 {
							p.After(time.Millisecond, common(n))
						}
						<-gate
					}
					return nil
				}})}))
		ref := r.ref("a")
		for range 2 { // in the second round nothing is left of the first round's counts
			_ = ref.Send("block")
			time.Sleep(time.Millisecond)
			synctest.Wait()
			for n := range 20 {
				_ = ref.Send(duty(n))
			}
			for n := range 12 {
				msg, want := any(noise(n)), error(nil)
				if n >= 5 {
					msg = common(n)
				}
				if n >= 10 {
					want = ErrOverloaded
				}
				if err := ref.Send(msg); err != want {
					t.Errorf("%T %d: %v, want %v", msg, n, err, want)
				}
			}
			gate <- struct{}{}
			synctest.Wait()
		}
	})
}

// A reserved message to a process that has ended is refused like any other.
func TestReservedMessageToNobodyIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		child, _ := blocked(1)
		r.tree, r.err = r.sys.Start(context.Background(), "top", oneChild(child))
		ref := r.ref("a")
		_ = r.tree.Shutdown(context.Background())
		if err := ref.Send(duty(1)); err != ErrNoProc {
			t.Errorf("got %v, want %v", err, ErrNoProc)
		}
	})
}
