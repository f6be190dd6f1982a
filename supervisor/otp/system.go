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
)

// DefaultThroughput is the default of Options.Throughput. Protoactor's own number, 300, makes tail
// latencies of a second when both cores are busy; 10 has no measurable cost.
const DefaultThroughput = 10

// Options configure a System. The zero value is usable.
type Options struct {
	// Logger receives what has no other place to go: panics in callbacks, and protoactor's warnings.
	// Nil logs nothing. Nothing is ever written to standard output.
	Logger *slog.Logger
	// Clock is the time for intensity, timers and timestamps. Nil means the machine's clock.
	Clock Clock
	// Faults breaks rows on purpose. Nil breaks none.
	Faults Faults
	// Events is called with every event, from many goroutines, among them those of supervisors. It
	// must return at once. Usually it sends to a buffered channel and counts what it drops.
	Events func(Event)
	// Throughput is how many messages a worker handles before it lets others run. 0 means
	// DefaultThroughput (10).
	Throughput int
	// Contention returns how long the program's threads have run in all, and how long they have waited
	// for a CPU while they could have run. Time for which the machine had no CPU for the program does
	// not make a worker stuck. Nil means that these times are unknown.
	Contention func() (ran, waited time.Duration)
	// Origin returns the origin that a path belongs to, "" for none. Crashes that the end of this row
	// causes in others are charged to that origin; see Attributed. Nil means that no row belongs to an
	// origin.
	Origin func(path string) string
	// Scheduler decides what runs when, for simulations. Nil leaves it to the machine.
	Scheduler Scheduler
}

// System holds supervision trees. A program needs one; a test may have its own.
type System struct {
	actors   *actor.ActorSystem
	dispatch actor.Dispatcher
	runners  runners
	timeouts timeouts
	clock    Clock
	faults   Faults
	events   func(Event)
	origin   func(path string) string
	log      *slog.Logger
	// scheduler is nil except in simulations.
	scheduler Scheduler
	seq       atomic.Uint64
	marks     boxMarks
	propsPool sync.Pool // pool of *sharedProps, see there
	watch     watch
	isolated  atomic.Int32
	// isolatedInDomains counts isolated processes that are in failure domains other than the root, at
	// most MaxIsolated of each.
	isolatedInDomains atomic.Int32

	mu     sync.Mutex // guards the fields below
	roots  []*row     // in order of their first start
	trees  []*Tree    // those that run
	closed bool
}

// NewSystem makes a system without trees. Call Close to end it.
func NewSystem(o Options) *System {
	s := &System{
		clock: o.Clock, faults: o.Faults, events: o.Events, origin: o.Origin, log: o.Logger,
		scheduler: o.Scheduler,
	}
	if s.clock == nil {
		s.clock = clock.System
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.Throughput <= 0 {
		o.Throughput = DefaultThroughput
	}
	if s.faults == nil {
		s.faults = noFaults{}
	}
	s.timeouts.clock = s.clock
	s.faults.Attribute(s.originOf)
	s.watch.start(s, o.Contention)
	s.runners.throughput = o.Throughput
	if s.dispatch = &s.runners; s.scheduler != nil {
		s.dispatch = s.scheduler
	}
	s.propsPool.New = func() any { return newSharedProps(s.dispatch) }
	s.actors = actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
			return slog.New(warnings{s.log.Handler()})
		}),
		// Protoactor keeps a goroutine for this long after a dead letter. The goroutine counts dead
		// letters for a log line that is suppressed anyway.
		actor.WithDeadLetterThrottleInterval(time.Millisecond),
	)
	shrinkRegistry(s.actors.ProcessRegistry.LocalPIDs)
	return s
}

// warnings passes on records of level warning or above. Protoactor logs a line at level info for
// every crash, on the restart path, and the whole content of a dead letter, which is a tenant's
// data.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}
func (w warnings) WithAttrs(a []slog.Attr) slog.Handler { return warnings{w.Handler.WithAttrs(a)} }
func (w warnings) WithGroup(g string) slog.Handler      { return warnings{w.Handler.WithGroup(g)} }

// Whereis finds a row by its path and reports whether the row exists. Use Ref.Alive to see if
// something runs in it. Whereis costs a map lookup for each level and asks no actor.
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

// Snapshot returns all trees: an unnamed node that has the trees as children, in order of their
// start. It locks one row at a time, for as long as it takes to copy pointers, and asks no actor.
func (s *System) Snapshot() Node {
	s.mu.Lock()
	roots := slices.Clone(s.roots)
	s.mu.Unlock()
	n := Node{Type: SupervisorType, Status: Running, Isolated: s.Isolated()}
	for _, r := range roots {
		n.Children = append(n.Children, r.snapshot())
	}
	return n
}

// Isolated returns how many isolated processes, in all trees, have not returned yet; see
// MaxIsolated.
func (s *System) Isolated() int { return int(s.isolated.Load()) }

// IdleRunners returns how many goroutines wait for a process that has work. They are kept for
// reuse, at most 64. So the number of goroutines follows the number of messages handled at once,
// not the number of processes.
func (s *System) IdleRunners() int { return s.runners.waiting() }

// Close stops the trees that run, the last one first, each child within its Shutdown, and refuses
// new trees. It may be called more than once.
func (s *System) Close() {
	s.mu.Lock()
	trees, again := slices.Clone(s.trees), s.closed
	s.closed = true
	s.mu.Unlock()
	for _, t := range slices.Backward(trees) {
		_ = t.Shutdown(context.Background()) // never fails without a deadline; the reason is in Tree.Err
	}
	s.watch.stop()
	if !again {
		s.actors.Shutdown()
		s.runners.close()
	}
}

// emit passes an event to Options.Events.
func (s *System) emit(e Event) {
	if s.events != nil {
		s.safely(e.Where(), "Events", func() { s.events(e) })
	}
}

// safely runs a callback of other code. A panic in it is logged and does not crash a supervisor.
func (s *System) safely(path, callback string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("panic in callback", "path", path, "callback", callback, "panic", fmt.Sprint(v))
		}
	}()
	f()
}

// newGuard makes the process for a row. The caller spawns it.
func (s *System) newGuard(r *row, sup *supervisor) *guard {
	g := &guard{sys: s, row: r, sup: sup}
	g.mailbox.guard = g
	g.mailbox.limit = r.child().Mailbox
	g.mailbox.mark = s.marks.of(r.child().Label, g.mailbox.limit)
	return g
}

// spawn starts the process. For protoactor it has no parent, because its own guard reports its end
// to its supervisor. It is removed from protoactor's registry at once: messages reach a process by
// its row, and a map keeps the memory of every entry it once had.
func (s *System) spawn(g *guard) error {
	c := s.propsPool.Get().(*sharedProps)
	defer s.propsPool.Put(c)
	c.guard = g
	// The sequence number makes the name unique.
	pid, err := s.actors.Root.SpawnNamed(c.props, strconv.FormatUint(s.seq.Add(1), 36))
	c.guard = nil
	if err == nil {
		s.actors.ProcessRegistry.Remove(pid)
	}
	return err
}

// sharedProps holds props from which protoactor makes processes. Protoactor asks the props for the
// actor and the mailbox only during the spawn, but keeps a pointer to them in each process. They
// take more memory than the rest of an idle process, so many processes share one sharedProps.
type sharedProps struct {
	guard *guard
	props *actor.Props
}

func newSharedProps(dispatch actor.Dispatcher) *sharedProps {
	c := &sharedProps{}
	c.props = actor.PropsFromProducer(
		func() actor.Actor { return c.guard },
		actor.WithMailbox(func() actor.Mailbox { return &c.guard.mailbox }),
		actor.WithDispatcher(dispatch),
	)
	return c
}
