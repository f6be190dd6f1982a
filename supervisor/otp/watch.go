package otp

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/internal/clock"
)

// Tick is how often the watch looks at those it suspects, and how exactly it knows since when they are busy.
const Tick = 50 * time.Millisecond

// lookEvery is how many ticks pass between two looks at all rows. Whoever is busy then is looked at every tick until it is done.
const lookEvery = 20

// lag is how many ticks may be made up for at once. What is missed beyond is not counted: the whole program stood still, and nobody is stuck
// because of that.
const lag = 4

// beat is how often the watch looks at suspects. It is about the time for which Go lets a goroutine run before others have their turn.
const beat = 10 * time.Millisecond

// watch finds processes that do not come back from what they do, and had the chance to. A mailbox notes the tick when it hands out a message, which costs a load; all else
// is done here. It also has those that are idle give back the memory of a burst. It is quiet while no worker does anything, and there is none in a
// simulation, where nobody else runs while somebody hangs.
type watch struct {
	tick    atomic.Uint64 // from 1
	stirred atomic.Bool   // somebody has woken up since the last look at all
	sys     *System

	mu     sync.Mutex  // guards the fields below
	timer  clock.Timer // nil while it is quiet
	closed bool

	sweeping sync.Mutex // held by the sweep, which is the only one to use what follows
	due      time.Time  // of the next tick
	suspects map[*guard]*suspect
	pictured uint64 // the tick at which goroutines were looked at last
	supply   supply
}

// suspect is a process that was busy when all were looked at.
type suspect struct {
	since    stamp
	from     time.Duration // what had been supplied when the tick of its begin was over
	told     bool
	reported uint64 // the tick at which its supervisor was told last
	report   *CrashReport
}

// overdue tells a supervisor that a child is at the same thing for longer than its Hard.
type overdue struct {
	guard  *guard
	since  stamp
	report *CrashReport
}

func (w *watch) start(s *System, contention func() (ran, waited time.Duration)) {
	w.supply.share, w.supply.contention = 1, contention
	w.sys, w.suspects = s, make(map[*guard]*suspect)
	w.tick.Store(1)
	w.stirred.Store(s.scheduler != nil) // then nothing ever stirs it
}

// stir is called by whoever wakes a process up.
func (w *watch) stir() {
	if w.stirred.Load() {
		return
	}
	w.stirred.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil && !w.closed {
		now := w.sys.clock.Now()
		w.due = now.Add(Tick)
		w.supply.expect(now, Tick)
		w.timer = w.sys.clock.AfterFunc(Tick, w.sweep)
	}
}

// stop ends the watch. It returns when the last sweep has.
func (w *watch) stop() {
	w.mu.Lock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.sweeping.Lock()
	defer w.sweeping.Unlock()
	clear(w.suspects)
}

// sweep advances the tick and looks at the suspects, and now and then at all.
func (w *watch) sweep() {
	runtime.Gosched() // the watch waits for a processor as long as a worker does: see supply
	w.sweeping.Lock()
	defer w.sweeping.Unlock()
	now := w.sys.clock.Now()
	w.supply.came(now)
	before := w.tick.Load()
	tick := before
	if early := w.due.Sub(now); early <= 0 || early > Tick {
		tick = w.tick.Add(w.passed(now))
		w.supply.ticked(before, tick)
	}
	all := before/lookEvery != tick/lookEvery
	defer w.again(now, all && !w.stirred.Swap(false)) // also when who is told of something takes the goroutine with it
	if all {
		w.look(tick)
		w.supply.measure(len(w.suspects) > 0)
	}
	for _, g := range slices.SortedFunc(maps.Keys(w.suspects), byPath) {
		w.examine(g, w.suspects[g], tick, now)
	}
}

// again has the next sweep come, unless all is quiet.
func (w *watch) again(now time.Time, quiet bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
	case quiet && len(w.suspects) == 0 && !w.stirred.Load():
		w.timer = nil
	default:
		pause := w.due.Sub(now)
		if len(w.suspects) > 0 {
			pause = min(pause, beat)
		}
		w.supply.expect(now, pause)
		w.timer = w.sys.clock.AfterFunc(pause, w.sweep)
	}
}

// passed is how many ticks have passed, and sets when the next one is due.
func (w *watch) passed(now time.Time) uint64 {
	n := 1 + now.Sub(w.due)/Tick
	if n < 1 || n > lag {
		w.due, n = now, lag
	} else {
		w.due = w.due.Add((n - 1) * Tick)
	}
	w.due = w.due.Add(Tick)
	return uint64(n)
}

// look adds those to the suspects who are busy, and were a tick ago.
func (w *watch) look(tick uint64) {
	w.sys.mu.Lock()
	trees := append([]*Tree(nil), w.sys.trees...)
	w.sys.mu.Unlock()
	for _, t := range trees {
		w.below(t.row, tick)
	}
}

func (w *watch) below(r *row, tick uint64) {
	if g := r.proc.Load(); g != nil {
		since := g.box.hand.at()
		if s := w.suspects[g]; since != 0 && since.tick() < tick && (s == nil || s.since != since) {
			if s != nil && s.told {
				r.stuck.Store(false)
			}
			w.suspects[g] = &suspect{since: since, from: w.supply.at(since.tick()+1, tick)}
		} else if since != 0 { // it may have just begun, and nobody may wake up again before it has to be looked at
			w.stirred.Store(true)
		}
		if since != 0 && since.tick() < tick {
			g.box.release(g.box.turn.Swap(nil))
		}
		if since == 0 && g.box.swollen.Load() {
			g.box.trim()
		}
	}
	for _, c := range r.rows() {
		w.below(c, tick)
	}
}

// examine tells of a suspect what there is to tell, and lets those go who have come back.
func (w *watch) examine(g *guard, s *suspect, tick uint64, now time.Time) {
	if g.box.hand.at() != s.since || g.abandoned.Load() {
		delete(w.suspects, g)
		if s.told {
			g.row.stuck.Store(false)
		}
		return
	}
	child := g.row.child()
	hard := patience(child, Status(g.row.status.Load()))
	at := w.supply.sum - s.from // at least: it was begun somewhen within its tick
	if child.Soft != Unwatched && at >= child.Soft && !s.told {
		s.told = true
		g.row.stuck.Store(true)
		s.report = w.report(g, s.since, tick, now)
		w.sys.emit(Stuck{g.row.about(g.inc(), now), at, s.report})
	}
	if hard != Unwatched && at >= hard && g.sup != nil && (s.reported == 0 || tick-s.reported >= lookEvery) {
		if s.report == nil {
			s.report = w.report(g, s.since, tick, now)
		}
		s.reported = tick
		g.sup.guard.box.PostSystemMessage(overdue{g, s.since, s.report})
	}
}

// patience is how long a process may be at what it does. The begin of a worker, and its end when that was ordered, have budgets that its supervisor sees
// to; a supervisor has none of its own for either, as they take as long as those of its children.
func patience(c *Child, s Status) time.Duration {
	sup := c.Start.Type() == SupervisorType
	switch {
	case s == Running, s == Stopping && sup:
		return c.Hard
	case sup:
		return c.StartTimeout
	}
	return Unwatched
}

// byPath orders suspects, so that it is not the order of a map which of several gets its stack looked at.
func byPath(a, b *guard) int {
	return cmp.Or(strings.Compare(a.row.path, b.row.path), cmp.Compare(a.inc(), b.inc()))
}
