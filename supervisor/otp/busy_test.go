package otp

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// work keeps an idle processor busy for a time in proportion to rounds. It takes longer on the
// clock the less it is allowed to run.
func work(rounds int) {
	var sum uint64
	for n := range rounds {
		for i := range uint64(100_000) {
			sum += i * uint64(n)
		}
	}
	worked.Store(sum)
}

var worked atomic.Uint64 // so that the work is not optimized away

// crowd keeps every processor busy with other goroutines until the test ends.
func crowd(t *testing.T) {
	var over atomic.Bool
	var all sync.WaitGroup
	for range 40 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for !over.Load() {
				work(1)
			}
		})
	}
	t.Cleanup(func() { over.Store(true); all.Wait() })
}

// A worker that is busy for a moment is not stuck, even if it waits for a processor for several
// times its HardTimeout.
func TestBusyIsNotStuck(t *testing.T) {
	const hard = 500 * time.Millisecond
	begun, rounds := time.Now(), 0
	for ; time.Since(begun) < hard/5; rounds++ {
		work(1)
	}
	rounds = max(1, rounds)
	sys := NewSystem(Options{})
	defer sys.Close()
	took := make(chan time.Duration, 1)
	tree, err := sys.Start(t.Context(), "top",
		oneChild(Child{ID: "a", SoftTimeout: NoTimeout, HardTimeout: hard,
			Start: scriptWorker(script{receive: func(p *Process, _ any) error {
				begun := time.Now()
				work(rounds)
				took <- time.Since(begun)
				return nil
			}})}))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := sys.Whereis("top/a")
	crowd(t)
	send(t, a, "work")
	if d := <-took; d < 2*hard {
		t.Skipf("it took %s, which is not long enough to be taken for stuck", d)
	}
	if n := tree.Snapshot().Children[0]; n.Incarnation != 1 || sys.Isolated() != 0 {
		t.Errorf("incarnation %d, %d hung", n.Incarnation, sys.Isolated())
	}
}

// A worker that does not return is found, whatever it does, on a machine that has time for it.
func TestWhoNeverComesBackIsFound(t *testing.T) {
	var over atomic.Bool
	var lock sync.Mutex
	lock.Lock()
	gate := make(chan struct{})
	for name, stay := range map[string]func(){
		"lock":    lock.Lock,
		"channel": func() { <-gate },
		"spin": func() {
			for !over.Load() {
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			sys := NewSystem(Options{})
			defer sys.Close()
			if _, err := sys.Start(t.Context(), "top",
				oneChild(Child{ID: "a", HardTimeout: time.Second, Start: scriptWorker(script{})})); err != nil {
				t.Fatal(err)
			}
			a, _ := sys.Whereis("top/a")
			begun := time.Now()
			send(t, a, func(*Process) error { stay(); return nil })
			for a.Incarnation() == 1 && time.Since(begun) < time.Minute {
				time.Sleep(10 * time.Millisecond)
			}
			took := time.Since(begun)
			t.Log("found after", took)
			if a.Incarnation() != 2 || took < time.Second {
				t.Errorf("incarnation %d after %s", a.Incarnation(), took)
			}
		})
	}
	over.Store(true)
	lock.Unlock()
	close(gate)
	time.Sleep(20 * time.Millisecond) // until they return
}

// A worker that calls Progress is not replaced as long as it does. A worker that was replaced ends
// at its next call.
func TestProgressIsNotStuck(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{})}), func(t *testing.T, r *rig) {
		gate := make(chan struct{})
		send(t, r.ref("a"), func(p *Process) error {
			for range 10 {
				time.Sleep(DefaultHardTimeout - time.Second)
				p.Progress()
			}
			<-gate
			p.Progress()
			t.Error("went on after it was replaced")
			return nil
		})
		time.Sleep(10 * (DefaultHardTimeout - time.Second))
		synctest.Wait()
		if got := r.state(); got != "a#1" {
			t.Errorf("while there is progress: %s", got)
		}
		time.Sleep(DefaultHardTimeout + 2*time.Second)
		synctest.Wait()
		if got := r.state(); got != "a#2" || r.sys.Isolated() != 1 {
			t.Errorf("when there is none: %s, %d hung", got, r.sys.Isolated())
		}
		close(gate)
		synctest.Wait()
		if got := r.state(); got != "a#2" || r.sys.Isolated() != 0 {
			t.Errorf("when it is back: %s, %d hung", got, r.sys.Isolated())
		}
	})
}

// Progress also works while a sender waits for room in the mailbox, which sets the wake-up flag.
func TestProgressIsCountedWhileASenderWaits(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Start: scriptWorker(script{})}), func(t *testing.T, r *rig) {
		var before, after stamp
		gate := make(chan struct{})
		send(t, r.ref("a"), func(p *Process) error {
			h := &p.guard.mailbox.cursor
			p.guard.mailbox.mu.Lock()
			h.interrupt()
			p.guard.mailbox.mu.Unlock()
			before = h.at()
			time.Sleep(time.Second)
			p.Progress()
			after = h.at()
			if h.word.Load()&wakeFlag == 0 {
				t.Error("the bell is lost")
			}
			close(gate)
			return nil
		})
		<-gate
		if before == 0 || after.tick() <= before.tick() {
			t.Errorf("tick %d, then %d", before.tick(), after.tick())
		}
	})
}

// Time for which the machine does not run the program is not counted.
func TestSupplyCountsWhatTheMachineGave(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name                string
		pause, passed, want time.Duration
	}{
		{"in time", beat, beat, beat},
		{"some lateness", beat, beat + grace/2, beat + grace/2},
		{"a turn of another", beat, beat + grace, beat + grace},
		{"crowded", beat, 20 * beat, beat + grace},
		{"stopped", WatchInterval, time.Hour, WatchInterval + grace},
		{"set back", WatchInterval, -time.Hour, 0},
	} {
		s := supply{share: 1}
		s.expect(start, c.pause)
		if s.came(start.Add(c.passed)); s.sum != c.want {
			t.Errorf("%s: %s, want %s", c.name, s.sum, c.want)
		}
	}
	ran, waited := time.Second, time.Second
	s := supply{share: 1, contention: func() (time.Duration, time.Duration) { return ran, waited }}
	for _, c := range []struct {
		ran, waited time.Duration
		suspects    bool
		want        float64
	}{
		{1, 1, false, 1}, {1, 1, true, 1}, {30, 10, true, 0.75}, {0, 0, true, 0.75}, {-5, 9, true, 0.75},
		{1, 4, true, 0.2}, {1, 9, false, 1}, {1, 9, true, 1}, {1, 9, true, 0.1},
	} {
		ran, waited = ran+c.ran, waited+c.waited
		if s.measure(c.suspects); s.share != c.want {
			t.Errorf("after %+v: share %v", c, s.share)
		}
	}
}

// On a machine that gives the program a tenth of its time, a worker has ten times as long.
func TestContentionIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		sys := NewSystem(Options{Contention: func() (ran, waited time.Duration) {
			d := time.Since(start)
			return d / 10, d - d/10
		}})
		defer func() { sys.Close(); time.Sleep(time.Second) }()
		if _, err := sys.Start(t.Context(), "top",
			oneChild(Child{ID: "a", Start: scriptWorker(script{})})); err != nil {
			t.Fatal(err)
		}
		a, _ := sys.Whereis("top/a")
		h := newHang()
		send(t, a, func(*Process) error { <-h.gate; return nil })
		time.Sleep(6 * DefaultHardTimeout)
		synctest.Wait()
		early := a.Incarnation()
		time.Sleep(6 * DefaultHardTimeout)
		synctest.Wait()
		if early != 1 || a.Incarnation() != 2 {
			t.Errorf("incarnation %d, then %d", early, a.Incarnation())
		}
		close(h.gate)
	})
}
