package sim

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// MaxSteps bounds a run. A run that needs more steps is in an endless loop.
const MaxSteps = 1_000_000

// maxEarly is how early a timer may fire, once in oneInHaste times, while other work remains. It
// imitates the limited speed of a machine.
const (
	maxEarly   = 20 * time.Millisecond
	oneInHaste = 64
)

// epoch is when every run begins.
var epoch = time.Date(2026, 7, 28, 0, 0, 0, 0, time.UTC)

// World is a machine on which one thing runs at a time, on one goroutine: a process handling a
// message, an owned goroutine up to where it would block, or a timer. The seed chooses which is
// next, and time passes only when nothing else can run. It is an otp.Scheduler and a clock.Clock.
type World struct {
	rand     *rand.Rand
	trace    *Trace
	now      time.Time
	steps    int
	runnable []func()   // of processes that have messages
	routines []*routine // goroutines that have not ended
	ready    []*routine // of lives, those that can run in this step
	timers   timers     // sorted by time
	inside   *routine   // the routine that runs; nil for a turn or a timer
	// beforeHandle is called with every message before it is handled. It may be nil.
	beforeHandle func(path, kind string)
}

// NewWorld returns a world in which nothing runs yet.
func NewWorld(seed uint64, trace *Trace) *World {
	return &World{rand: rand.New(rand.NewPCG(seed, 0)), trace: trace, now: epoch}
}

// Rand returns the random source of the seed. All randomness of the run must come from it.
func (w *World) Rand() *rand.Rand { return w.rand }

// Since returns how long the world has existed, by its own clock.
func (w *World) Since() time.Duration { return w.now.Sub(epoch) }

// Note writes a line of the trace.
func (w *World) Note(label, who, detail string) {
	w.trace.line(w.steps, w.Since(), label, who, detail)
}

// Throughput returns one: after each message a process waits for another turn.
func (w *World) Throughput() int { return 1 }

// Schedule adds a process to those that have messages.
func (w *World) Schedule(f func()) { w.runnable = append(w.runnable, f) }

// Handle notes a message that is about to be handled.
func (w *World) Handle(path string, msg any) {
	kind := fmt.Sprintf("%T", msg)
	w.Note("handle", path, kind)
	if w.beforeHandle != nil {
		w.beforeHandle(path, kind)
	}
}

// Stuck is the panic value of a run in which everything waits for something that cannot happen, or
// that does not end.
type Stuck struct{ Why string }

func (s Stuck) Error() string { return s.Why }

// Wait lets others run until ready returns true.
func (w *World) Wait(ready func() bool) {
	if w.inside != nil {
		w.inside.wait(ready)
		return
	}
	for !ready() {
		if !w.Step() {
			panic(Stuck{"everybody waits, and no timer is set"})
		}
	}
}

// RunFor lets everything run until d has passed.
func (w *World) RunFor(d time.Duration) {
	over := false
	w.AfterFunc(d, func() { over = true })
	w.Wait(func() bool { return over })
}

// Step does one thing, and reports whether there was one.
func (w *World) Step() bool {
	if w.steps++; w.steps > MaxSteps {
		panic(Stuck{fmt.Sprintf("no end after %d steps", MaxSteps)})
	}
	w.ready = w.ready[:0]
	for _, r := range w.routines {
		if r.ready == nil || r.ready() {
			w.ready = append(w.ready, r)
		}
	}
	due := w.timers.due(w.now)
	n := len(w.runnable) + len(w.ready) + due
	if len(w.timers) > due && (n == 0 ||
		w.timers.next(due).Sub(w.now) <= maxEarly && w.rand.IntN(oneInHaste) == 0) {
		w.now = w.timers.next(due)
		due = w.timers.due(w.now)
		n = len(w.runnable) + len(w.ready) + due
	}
	if n == 0 {
		return false
	}
	i := w.rand.IntN(n)
	switch {
	case i < len(w.runnable):
		f := w.runnable[i]
		w.runnable = append(w.runnable[:i], w.runnable[i+1:]...)
		f()
	case i < len(w.runnable)+len(w.ready):
		w.resume(w.ready[i-len(w.runnable)])
	default:
		w.timers.take(i - len(w.runnable) - len(w.ready)).fire()
	}
	return true
}
