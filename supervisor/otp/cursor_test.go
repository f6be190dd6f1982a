package otp

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestWakeUpStopsTheCursor(t *testing.T) {
	var h cursor
	if h.at() != 0 {
		t.Errorf("at %x before anything", h.at())
	}
	h.first(7)
	first := h.at()
	if first.tick() != 7 || h.taken(0) != 1 {
		t.Errorf("tick %d, %d taken, want 7 and 1", first.tick(), h.taken(0))
	}
	if !h.next(7) || h.at() == first || h.taken(0) != 2 {
		t.Errorf("the second of a tick: %x after %x, %d taken", h.at(), first, h.taken(0))
	}
	second := h.at()
	h.interrupt()
	if h.next(8) || h.at() != second || h.taken(0) != 2 {
		t.Errorf("after the bell: %x, was %x, %d taken", h.at(), second, h.taken(0))
	}
	h.signal(9)
	if h.at().tick() != 9 || h.taken(0) != 2 {
		t.Errorf("a signal: tick %d, %d taken, want 9 and 2", h.at().tick(), h.taken(0))
	}
	h.interrupt()
	h.first(10) // the reaction to the flag
	if !h.next(10) || h.taken(2) != 2 {
		t.Errorf("it does not go on after it has answered the bell: %d taken", h.taken(2))
	}
	if h.rest(); h.at() != 0 {
		t.Errorf("at %x while it rests", h.at())
	}
}

func TestCursorCountsBeyondItsWidth(t *testing.T) {
	var h cursor
	h.word.Store(maxTaken << 1)
	before := h.count()
	for range 3 {
		if !h.next(1) {
			t.Fatal("refused")
		}
	}
	if h.taken(before) != 3 || h.at().tick() != 1 {
		t.Errorf("%d taken, tick %d, want 3 and 1", h.taken(before), h.at().tick())
	}
}

func TestTheFrontOfAQueueStays(t *testing.T) {
	var q queue[int]
	next, want := 0, 0
	for round := range 200 {
		for range round % 7 {
			q.push(next)
			next++
		}
		front := q.front(1 + round%4)
		if round%5 == 0 {
			q = q.move()
		}
		seen := slices.Clone(front)
		for range round % 3 {
			q.push(next) // may make the ring grow
			next++
		}
		if !slices.Equal(front, seen) || len(front) == 0 && q.len() > 0 {
			t.Fatalf("round %d: %v, was %v, of %d", round, front, seen, q.len())
		}
		for _, v := range seen {
			if got := q.pop(); got != v || got != want {
				t.Fatalf("round %d: %d, want %d and %d", round, got, v, want)
			}
			want++
		}
	}
}

// Messages that the goroutine was given together count against the limit until each is taken. A
// crash on one of them leaves the ones behind it to the next incarnation, and so does an end.
func TestWhatIsGivenTogetherIsTakenOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var r *rig
		var seen []string
		child := Child{ID: "a", Mailbox: 4,
			Start: scriptWorker(script{receive: func(p *Process, msg any) error {
				seen = append(seen, fmt.Sprint(p.Incarnation(), msg))
				switch msg {
				case "block":
					<-gate
				case 1: // 2, 3 and 4 wait
					one, two := r.ref("a").Send("late"), r.ref("a").Send("too late")
					seen = append(seen, fmt.Sprint(one, two))
				case 2:
					panic("on purpose")
				case 4:
					return Normal
				}
				return nil
			}})}
		r = newRig(t)
		defer r.close()
		r.tree, r.err = r.sys.Start(context.Background(), "top", oneChild(child))
		_ = r.ref("a").Send("block")
		synctest.Wait()
		for n := range 4 {
			if err := r.ref("a").Send(n + 1); err != nil {
				t.Fatal(err)
			}
		}
		close(gate)
		synctest.Wait()
		want := []string{
			"1block", "1 1", fmt.Sprint(nil, " ", ErrOverloaded), "1 2", "2 3", "2 4", "3late",
		}
		if !slices.Equal(seen, want) {
			t.Errorf("%q, want %q", seen, want)
		}
	})
}

// The memory of a burst is kept for the next burst and freed after a while without one. That also
// holds for a process that took over waiting messages.
func TestAMailboxGivesABurstBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		gate := make(chan struct{}, 2)
		defer func() { gate <- struct{}{} }() // for the worker that hangs
		r.tree, r.err = r.sys.Start(context.Background(), "top", oneChild(Child{
			ID: "a", Mailbox: 1000, SoftTimeout: time.Second, HardTimeout: 2 * time.Second,
			Start: scriptWorker(script{receive: func(_ *Process, msg any) error {
				if msg == "block" {
					<-gate
				}
				return nil
			}}),
		}))
		slots := func() int {
			box := &r.ref("a").row.proc.Load().mailbox
			box.mu.Lock()
			defer box.mu.Unlock()
			return len(box.user.ring)
		}
		burst := func() {
			_ = r.ref("a").Send("block")
			synctest.Wait()
			for range 1000 {
				if err := r.ref("a").Send(1); err != nil {
					t.Error(err)
				}
			}
		}
		burst()
		gate <- struct{}{}
		synctest.Wait()
		if n := slots(); n < 1000 {
			t.Errorf("%d slots for the next burst", n)
		}
		time.Sleep(3 * lookEvery * WatchInterval)
		if n := slots(); n > queueKeep {
			t.Errorf("%d slots kept", n)
		}
		burst()
		time.Sleep(10 * time.Second)
		if n, inc := slots(), r.ref("a").Incarnation(); n > queueKeep || inc != 2 {
			t.Errorf("%d slots kept by incarnation %d", n, inc)
		}
	})
}
