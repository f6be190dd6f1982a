package otp

import (
	"testing"
	"testing/synctest"
	"time"
)

// The watch costs nothing while nothing happens. It begins with the first message and ends with the
// system.
func TestTheWatchIsQuiet(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{})}), func(t *testing.T, r *rig) {
		armed := func() bool {
			r.sys.watch.mu.Lock()
			defer r.sys.watch.mu.Unlock()
			return r.sys.watch.timer != nil
		}
		if !armed() {
			t.Error("not watched while a tree starts")
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		before := r.sys.watch.tick.Load()
		time.Sleep(time.Hour)
		if armed() || r.sys.watch.tick.Load() != before {
			t.Error("watched while nothing happens")
		}
		runInActor(t, r.ref("a"), func(*Process) error { return nil })
		if !armed() {
			t.Error("not watched while messages are handled")
		}
		r.sys.Close()
		tick := r.sys.watch.tick.Load()
		time.Sleep(time.Hour)
		if r.sys.watch.tick.Load() != tick {
			t.Error("watched after the end")
		}
	})
}

// A process that begins with something while all rows are looked at is looked at again, even if no
// process is woken any more.
func TestTheWatchStaysForWhoHasJustBegun(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{})}), func(t *testing.T, r *rig) {
		time.Sleep(time.Minute) // the watch is off now
		w, row := &r.sys.watch, r.ref("a").row
		tick := w.tick.Load()
		at := &row.proc.Load().mailbox.cursor
		for began, want := range map[uint64]bool{0: false, tick: true} {
			w.woken.Store(false)
			at.signal(began)
			w.below(row, tick)
			if w.woken.Load() != want {
				t.Errorf("began at tick %d of %d: looked at again: %t", began, tick, !want)
			}
			at.rest()
		}
		w.woken.Store(false)
	})
}

// The time for which the whole program stood still is not counted: no process was stuck more than
// the rest.
func TestAPauseIsNotCounted(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	w := &watch{due: start}
	for _, c := range []struct {
		late time.Duration
		want uint64
	}{{0, 1}, {0, 1}, {WatchInterval - 1, 1}, {WatchInterval, 2}, {2*WatchInterval + 1, 3},
		{time.Hour, lag}, {0, 1},
		{-time.Minute, lag}} {
		now := w.due.Add(c.late)
		if got := w.passed(now); got != c.want {
			t.Errorf("%s late: %d ticks, want %d", c.late, got, c.want)
		}
		if next := w.due.Sub(now); next <= 0 || next > WatchInterval {
			t.Errorf("%s late: the next tick is due in %s", c.late, next)
		}
	}
}

// A process that has returned before its supervisor hears of the delay is not replaced.
func TestWhoIsBackWhenItIsToldOfIsLeftAlone(t *testing.T) {
	d := &diary{}
	runTree(t, oneChild(Child{ID: "a", Start: d.start()}), func(t *testing.T, r *rig) {
		g := r.ref("a").row.proc.Load()
		h := newHang()
		send(t, r.ref("a"), h)
		synctest.Wait()
		since := g.mailbox.cursor.at()
		close(h.gate)
		synctest.Wait()
		next := newHang()
		send(t, r.ref("a"), next)
		synctest.Wait()
		g.sup.guard.mailbox.PostSystemMessage(overdue{g, since, g.newReport(ErrStuck, h, nil)})
		synctest.Wait()
		close(next.gate)
		synctest.Wait()
		if got := r.state(); got != "a#1" || next.err != nil {
			t.Errorf("tree %s, what it was at then failed with %v", got, next.err)
		}
	})
}
