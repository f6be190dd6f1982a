package otp

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A worker that does not know a call does not keep its caller waiting.
func TestCallThatNobodyHandlesFails(t *testing.T) {
	ignore := Worker(func() Behaviour {
		return &script{receive: func(*Process, any) error { return nil }}
	})
	runTree(t, oneChild(Child{ID: "a", Start: ignore}), func(t *testing.T, r *rig) {
		begun := time.Now()
		_, err := Do[int, int](context.Background(), r.ref("a"), 1)
		if !errors.Is(err, ErrUnhandled) || time.Since(begun) > 0 {
			t.Errorf("%v after %v, want %v at once", err, time.Since(begun), ErrUnhandled)
		}
	})
}

// A call whose answer is announced waits for it, but not forever.
func TestCallThatIsAnsweredLater(t *testing.T) {
	later := Worker(func() Behaviour {
		return &script{receive: func(p *Process, msg any) error {
			if c, ok := msg.(*Call[int, int]); ok {
				c.AnswerLater()
				if c.Req > 0 {
					p.Go("answer", func(ctx context.Context) error {
						if err := p.Sleep(ctx, time.Second); err == nil {
							c.Reply(c.Req)
						}
						return nil
					})
				}
			}
			return nil
		}}
	})
	runTree(t, oneChild(Child{ID: "a", Start: later}), func(t *testing.T, r *rig) {
		got, err := Do[int, int](context.Background(), r.ref("a"), 7)
		if got != 7 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		begun := time.Now()
		_, err = Do[int, int](context.Background(), r.ref("a"), 0)
		if !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without an answer: %v, want %v", err, ErrTimeout)
		}
		if waited := time.Since(begun) - DefaultCallTimeout; waited < 0 || waited > timeoutTick {
			t.Errorf("it waited for %v, want %v", DefaultCallTimeout+waited, DefaultCallTimeout)
		}
	})
}
