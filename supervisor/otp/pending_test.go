package otp

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Pending calls of a stuck worker fail at once, unless its carried state can be taken from it. Then
// its successor answers.
func TestCallsOfAStuckWorkerFailAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		carried any
		want    error
	}{"given up": {&abandonRecorder{}, ErrStuck}, "none": {nil, ErrStuck},
		"taken": {&carriedList{}, nil}} {
		t.Run(name, func(t *testing.T) {
			var gate chan struct{}
			var taken []*Call[int, int]
			start := scriptWorker(script{
				init: func(p *Process) error {
					if p.Incarnation() == 1 {
						p.SetCarriedState(c.carried)
					}
					return nil
				},
				receive: func(_ *Process, msg any) error {
					switch m := msg.(type) {
					case *Call[int, int]:
						if m.Req == 0 {
							m.Reply(0)
							return nil
						}
						m.AnswerLater()
						taken = append(taken, m)
					case *hang:
						<-gate
						taken[0].Reply(-1)
					}
					return nil
				},
			})
			runTree(t, oneChild(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
				gate = make(chan struct{})
				a := r.ref("a")
				answers := make(chan answer[int], 1)
				go func() {
					n, err := Do[int, int](context.Background(), a, 1)
					answers <- answer[int]{n, err}
				}()
				synctest.Wait()
				if _, err := Do[int, int](context.Background(), a, 0); err != nil {
					t.Fatal(err)
				}
				owed := func() int {
					d := a.row.proc.Load().pending.Load()
					if d == nil {
						return 0
					}
					d.mu.Lock()
					defer d.mu.Unlock()
					return len(d.calls)
				}
				if n := owed(); n != 1 {
					t.Errorf("%d calls are owed", n)
				}
				send(t, a, newHang())
				time.Sleep(DefaultHardTimeout + 200*time.Millisecond)
				synctest.Wait()
				if early := len(answers) > 0; early != (c.want != nil) {
					t.Errorf("answered when it was replaced: %v", early)
				}
				runInActor(t, a, func(*Process) error { taken[0].Reply(2); return nil })
				close(gate)
				if got := <-answers; !errors.Is(got.err, c.want) || c.want == nil && got.resp != 2 {
					t.Errorf("answered %d, %v, want %v", got.resp, got.err, c.want)
				}
				if n := owed(); n != 0 {
					t.Errorf("%d calls are owed after all were answered", n)
				}
			})
		})
	}
}

// Pending calls of a stuck worker fail in the order in which it took them.
func TestCallsOfAStuckWorkerFailInTheirOrder(t *testing.T) {
	const calls = 64
	start := scriptWorker(script{receive: func(_ *Process, msg any) error {
		if h, ok := msg.(*hang); ok {
			<-h.gate
		}
		return nil // the call is taken and not answered
	}})
	runTree(t, oneChild(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
		var failed []int // only appended to on its supervisor's goroutine
		for n := range calls {
			c := &Call[int, int]{Req: n, ctx: t.Context()}
			c.async = func(answer[int]) { failed = append(failed, n) }
			send(t, r.ref("a"), c)
		}
		h := newHang()
		send(t, r.ref("a"), h)
		time.Sleep(DefaultHardTimeout + time.Second)
		synctest.Wait()
		if len(failed) != calls || !slices.IsSorted(failed) {
			t.Errorf("failed in the order %v", failed)
		}
		close(h.gate)
	})
}
