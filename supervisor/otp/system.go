package otp

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"mcpd/internal/clock"
	"mcpd/internal/fault"
)

// DefaultThroughput is how many messages a worker handles before it lets others run. 300, protoactor's own number, makes
// second-long tails when both cores are busy; 10 costs nothing that can be measured.
const DefaultThroughput = 10

// Options are what a System is given. The zero value is usable.
type Options struct {
	// Logger receives what has no other place to go: panics in callbacks, and protoactor's warnings. Nil is silence.
	// Nothing is ever written to standard output.
	Logger *slog.Logger
	// Clock is the time for intensity, timers and timestamps; nil is clock.System.
	Clock clock.Clock
	// Faults may make workers panic; nil is none.
	Faults *fault.Registry
	// Events is called with everything that happens, from many goroutines, among them those of supervisors: it has
	// to return at once. A buffered channel that drops and counts is the usual form.
	Events func(Event)
	// Throughput is how many messages a worker handles in a row; 0 is DefaultThroughput.
	Throughput int
	// Contention says how long the program's threads have run in all, and how long they have waited for a CPU while they could have run. Time for
	// which the machine had no CPU for the program does not make a worker stuck. Nil when that is not known.
	Contention func() (ran, waited time.Duration)
	// Origin says whose row a path is, for the crashes that its end causes; see Attributed. Nil is
	// nobody's.
	Origin func(path string) string
	// Scheduler decides what runs when, for simulations; nil leaves it to the machine.
	Scheduler Scheduler
}

// System holds supervision trees. One process needs one; a test may have its own.
type System struct {
	actors   *actor.ActorSystem
	dispatch actor.Dispatcher
	runners  runners
	clock    clock.Clock
	faults   *fault.Registry
	events   func(Event)
	origin   func(path string) string
	log      *slog.Logger
	// scheduler is nil but in simulations.
	scheduler Scheduler
	seq       atomic.Uint64
	marks     boxMarks
	cradles   sync.Pool // of *cradle
	watch     watch
	hung      atomic.Int32
	walled    atomic.Int32 // those behind bulkheads, of each MaxHung at most

	mu     sync.Mutex // guards the fields below
	roots  []*row     // in order of their first start
	trees  []*Tree    // that run
	closed bool
}

// NewSystem makes a system without trees. Close ends it.
func NewSystem(o Options) *System {
	s := &System{clock: o.Clock, faults: o.Faults, events: o.Events, origin: o.Origin, log: o.Logger, scheduler: o.Scheduler}
	if s.clock == nil {
		s.clock = clock.System
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.Throughput <= 0 {
		o.Throughput = DefaultThroughput
	}
	s.faults.Attribute(s.originOf)
	s.watch.start(s, o.Contention)
	s.runners.throughput = o.Throughput
	if s.dispatch = &s.runners; s.scheduler != nil {
		s.dispatch = s.scheduler
	}
	s.cradles.New = func() any { return newCradle(s.dispatch) }
	s.actors = actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(warnings{s.log.Handler()}) }),
		// One goroutine lives this long after a dead letter; what it would count is not logged anyway.
		actor.WithDeadLetterThrottleInterval(time.Millisecond),
	)
	narrow(s.actors.ProcessRegistry.LocalPIDs)
	return s
}

// warnings passes on what is a warning or worse. protoactor's information is a line for every crash, on the restart
// path, and a dead letter's whole content, which is a tenant's.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}
func (w warnings) WithAttrs(a []slog.Attr) slog.Handler { return warnings{w.Handler.WithAttrs(a)} }
func (w warnings) WithGroup(g string) slog.Handler      { return warnings{w.Handler.WithGroup(g)} }

// Whereis finds a row by its path and reports whether it exists; whether something runs there is Ref.Alive. It costs a
// map lookup for each level and asks no actor.
func (s *System) Whereis(path string) (Ref, bool) {
	first, rest, more := strings.Cut(path, "/")
	r := s.root(first)
	for r != nil && more {
		first, rest, more = strings.Cut(rest, "/")
		r = r.find(first)
	}
	return Ref{r}, r != nil
}

func (s *System) root(name string) *row {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.roots, func(r *row) bool { return r.id == name }); i >= 0 {
		return s.roots[i]
	}
	return nil
}

// Snapshot is everything there is: an unnamed node with the trees as its children, in order of their start. It
// locks one row at a time for as long as it takes to copy pointers, and asks no actor.
func (s *System) Snapshot() Node {
	s.mu.Lock()
	roots := slices.Clone(s.roots)
	s.mu.Unlock()
	n := Node{Type: SupervisorType, Status: Running, Hung: s.Hung()}
	for _, r := range roots {
		n.Children = append(n.Children, r.snapshot())
	}
	return n
}

// Hung is how many processes were fenced off and have not come back, wherever they are; see MaxHung.
func (s *System) Hung() int { return int(s.hung.Load()) }

// IdleRunners is how many goroutines wait for a process that has something to do. They are kept to be used again, 64 at most, so that their number
// says how many messages were handled at once, and not how many processes there are.
func (s *System) IdleRunners() int { return s.runners.waiting() }

// Close stops the trees that run, the last one first, each within its budgets, and refuses new ones. It may be called
// more than once.
func (s *System) Close() {
	s.mu.Lock()
	trees, again := slices.Clone(s.trees), s.closed
	s.closed = true
	s.mu.Unlock()
	for _, t := range slices.Backward(trees) {
		_ = t.Shutdown(context.Background()) // it ends; its reason is the tree's
	}
	s.watch.stop()
	if !again {
		s.actors.Shutdown()
		s.runners.close()
	}
}

// emit hands an event to whoever listens.
func (s *System) emit(e Event) {
	if s.events != nil {
		s.guarded(e.Where(), "Events", func() { s.events(e) })
	}
}

// guarded runs somebody else's callback, which may not take a supervisor down with it.
func (s *System) guarded(path, callback string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("panic in callback", "path", path, "callback", callback, "panic", fmt.Sprint(v))
		}
	}()
	f()
}

// newGuard makes the process for a row; spawning it is the caller's.
func (s *System) newGuard(r *row, sup *supervisor) *guard {
	g := &guard{sys: s, row: r, sup: sup}
	g.box.guard = g
	g.box.limit = r.child().Mailbox
	g.box.mark = s.marks.of(r.child().Label, g.box.limit)
	return g
}

// spawn starts the process. To protoactor it is nobody's child: who supervises it hears of its end from its guard. Its registry forgets it at once:
// what is sent to a process goes by its row, and maps keep the room of what once was in them.
func (s *System) spawn(g *guard) error {
	c := s.cradles.Get().(*cradle)
	defer s.cradles.Put(c)
	c.guard = g
	pid, err := s.actors.Root.SpawnNamed(c.props, strconv.FormatUint(s.seq.Add(1), 36)) // who is spawned at the same time has another name
	c.guard = nil
	if err == nil {
		s.actors.ProcessRegistry.Remove(pid)
	}
	return err
}

// cradle is what protoactor makes processes from. It asks for the actor and the mailbox while it spawns, and never again, but keeps the props
// for each process: they take more than all else that it has of an idle one, so that one serves many.
type cradle struct {
	guard *guard
	props *actor.Props
}

func newCradle(dispatch actor.Dispatcher) *cradle {
	c := &cradle{}
	c.props = actor.PropsFromProducer(
		func() actor.Actor { return c.guard },
		actor.WithMailbox(func() actor.Mailbox { return &c.guard.box }),
		actor.WithDispatcher(dispatch),
	)
	return c
}
