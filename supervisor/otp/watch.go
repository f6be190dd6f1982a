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
)

// WatchInterval is how often the watch looks at suspects, and how exactly it knows since when they
// are busy.
const WatchInterval = 50 * time.Millisecond

// lookEvery is how many ticks pass between two looks at all rows (1 s). A process that is busy then
// is looked at on every tick until it is done.
const lookEvery = 20

// lag is how many ticks may be made up for at once. Further missed ticks are not counted: the whole
// program stood still then, which makes no process stuck.
const lag = 4

// beat is how often the watch looks at suspects. Go lets a goroutine run for about this long before
// others have their turn.
const beat = 10 * time.Millisecond

// watch finds stuck processes: those that do not return from what they do although they could have
// run. When a mailbox hands out a message it records the tick, which costs one load; the watch does
// the rest. It also makes idle processes free the memory of a burst. It is off while no worker does
// anything, and in a simulation, where a process that hangs stops everything else.
type watch struct {
	tick  atomic.Uint64 // starts at 1
	woken atomic.Bool   // a process was woken since the last look at all rows
	sys   *System

	mu     sync.Mutex // guards the fields below
	timer  ClockTimer // nil while the watch is off
	closed bool

	sweeping   sync.Mutex // held by sweep, the only user of the fields below
	due        time.Time  // time of the next tick
	suspects   map[*guard]*suspect
	profiledAt uint64 // tick at which a stack was last taken
	supply     supply
}

// suspect is a process that was busy when all rows were looked at.
type suspect struct {
	since    stamp
	from     time.Duration // supply at the end of the tick of its begin
	told     bool
	reported uint64 // tick at which its supervisor was last told
	report   *CrashReport
}

// overdue tells a supervisor that a child has been at the same thing for longer than its
// HardTimeout.
type overdue struct {
	guard  *guard
	since  stamp
	report *CrashReport
}

func (w *watch) start(s *System, contention func() (ran, waited time.Duration)) {
	w.supply.share, w.supply.contention = 1, contention
	w.sys, w.suspects = s, make(map[*guard]*suspect)
	w.tick.Store(1)
	w.woken.Store(s.scheduler != nil) // in a simulation nothing stirs it
}

// wake is called when a process is woken. It starts the watch if that is off.
func (w *watch) wake() {
	if w.woken.Load() {
		return
	}
	w.woken.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil && !w.closed {
		now := w.sys.clock.Now()
		w.due = now.Add(WatchInterval)
		w.supply.expect(now, WatchInterval)
		w.timer = w.sys.clock.AfterFunc(WatchInterval, w.sweep)
	}
}

// stop ends the watch. It returns when the last sweep has ended.
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

// sweep advances the tick and looks at the suspects, and from time to time at all rows.
func (w *watch) sweep() {
	runtime.Gosched() // wait for a processor as a worker does; see supply
	w.sweeping.Lock()
	defer w.sweeping.Unlock()
	now := w.sys.clock.Now()
	w.supply.came(now)
	before := w.tick.Load()
	tick := before
	if early := w.due.Sub(now); early <= 0 || early > WatchInterval {
		tick = w.tick.Add(w.passed(now))
		w.supply.ticked(before, tick)
	}
	all := before/lookEvery != tick/lookEvery
	// Deferred, because a callback may end the goroutine.
	defer w.again(now, all && !w.woken.Swap(false))
	if all {
		w.look(tick)
		w.supply.measure(len(w.suspects) > 0)
	}
	for _, g := range slices.SortedFunc(maps.Keys(w.suspects), byPath) {
		w.examine(g, w.suspects[g], tick, now)
	}
}

// again schedules the next sweep, unless all is quiet.
func (w *watch) again(now time.Time, quiet bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
	case quiet && len(w.suspects) == 0 && !w.woken.Load():
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

// passed returns how many ticks have passed, and sets the time of the next one.
func (w *watch) passed(now time.Time) uint64 {
	n := 1 + now.Sub(w.due)/WatchInterval
	if n < 1 || n > lag {
		w.due, n = now, lag
	} else {
		w.due = w.due.Add((n - 1) * WatchInterval)
	}
	w.due = w.due.Add(WatchInterval)
	return uint64(n)
}

// look adds to the suspects each process that is busy and was busy a tick ago.
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
		since := g.mailbox.cursor.at()
		if s := w.suspects[g]; since != 0 && since.tick() < tick && (s == nil || s.since != since) {
			if s != nil && s.told {
				r.stuck.Store(false)
			}
			w.suspects[g] = &suspect{since: since, from: w.supply.at(since.tick()+1, tick)}
		} else if since != 0 {
			// The process may have just begun. The watch must stay on, although perhaps no process is woken
			// before the next look.
			w.woken.Store(true)
		}
		if since != 0 && since.tick() < tick {
			g.mailbox.scheduleHandedOver(g.mailbox.turn.Swap(nil))
		}
		if since == 0 && g.mailbox.oversized.Load() {
			g.mailbox.trim()
		}
	}
	for _, c := range r.rows() {
		w.below(c, tick)
	}
}

// examine reports what is known about a suspect. It removes suspects that have returned.
func (w *watch) examine(g *guard, s *suspect, tick uint64, now time.Time) {
	if g.mailbox.cursor.at() != s.since || g.abandoned.Load() {
		delete(w.suspects, g)
		if s.told {
			g.row.stuck.Store(false)
		}
		return
	}
	child := g.row.child()
	hard := limitOf(child, Status(g.row.status.Load()))
	at := w.supply.sum - s.from // lower bound: it began at some time within its tick
	if child.SoftTimeout != NoTimeout && at >= child.SoftTimeout && !s.told {
		s.told = true
		g.row.stuck.Store(true)
		s.report = w.report(g, s.since, tick, now)
		w.sys.emit(Stuck{g.row.about(g.inc(), now), at, s.report})
	}
	if hard != NoTimeout && at >= hard && g.sup != nil &&
		(s.reported == 0 || tick-s.reported >= lookEvery) {
		if s.report == nil {
			s.report = w.report(g, s.since, tick, now)
		}
		s.reported = tick
		g.sup.guard.mailbox.PostSystemMessage(overdue{g, s.since, s.report})
	}
}

// limitOf returns how long a process may be at one thing. The start of a worker, and an end that
// was ordered, have limits that its supervisor enforces. A supervisor has no such limits, because
// its start and end take as long as those of its children.
func limitOf(c *Child, s Status) time.Duration {
	sup := c.Start.Type() == SupervisorType
	switch {
	case s == Running, s == Stopping && sup:
		return c.HardTimeout
	case sup:
		return c.StartTimeout
	}
	return NoTimeout
}

// byPath orders suspects. Otherwise the order of a map would decide which suspect gets its stack
// taken.
func byPath(a, b *guard) int {
	return cmp.Or(strings.Compare(a.row.path, b.row.path), cmp.Compare(a.inc(), b.inc()))
}
