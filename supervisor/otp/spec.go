package otp

import (
	"cmp"
	"fmt"
	"time"
)

// Restart says when a child that ended is started again.
type Restart uint8

// Restart types.
const (
	Permanent Restart = iota // always
	Transient                // only after an abnormal end: not after Normal, ErrShutdown or ShutdownWith
	Temporary                // never; the row is deleted when the child ends
)

// Strategy says what else is restarted when one child ends.
type Strategy uint8

// Strategies.
const (
	OneForOne       Strategy = iota // only the child that ended
	OneForAll                       // all children: stopped in reverse, started in order
	RestForOne                      // the child that ended and those started after it
	SimpleOneForOne                 // a pool of children made from one template; only the one that ended
)

// AutoShutdown says whether a supervisor ends when significant children have ended by themselves.
type AutoShutdown uint8

// Kinds of automatic shutdown.
const (
	Never          AutoShutdown = iota // it does not
	AnySignificant                     // it ends when one significant child has ended
	AllSignificant                     // it ends when the last significant child has ended
)

// Shutdown is how long a child may take to stop before it is abandoned. Zero means the default: DefaultShutdown for
// workers and services, Infinity for supervisors.
type Shutdown = time.Duration

// Shutdowns that are not a length of time.
const (
	BrutalKill Shutdown = -1 // no time at all: Terminate is not called, and a child that is busy is abandoned
	Infinity   Shutdown = -2 // as long as it takes; the rule for supervisors
)

// Bounds and defaults.
const (
	// DefaultShutdown is OTP's default for workers.
	DefaultShutdown Shutdown = 5 * time.Second
	// DefaultStartTimeout bounds a worker's Init. OTP has no bound; here one stuck Init would hold up a whole tree.
	DefaultStartTimeout = 10 * time.Second
	// DefaultSoft is when a worker that is still at the same message is reported. A message takes microseconds, and this is what a client
	// begins to feel.
	DefaultSoft = time.Second
	// DefaultHard is when it is replaced: long after any pause of the machine, and soon enough for most of those who wait to be still there.
	DefaultHard = 5 * time.Second
	// Unwatched, as Child.Hard, is a worker that may take as long as it likes for a message.
	Unwatched time.Duration = -1
	// DefaultMailbox is how many messages may wait for a worker. At some microseconds a message it is
	// a few milliseconds of work: whoever is further behind than that should hear of it.
	DefaultMailbox = 1024
	// MaxMailbox is the longest mailbox that a spec may ask for: 2^20 waiting messages are 16 MiB of slots.
	MaxMailbox = 1 << 20
	// MaxRestarts is the largest Intensity.Restarts, since each that there was takes some 8 bytes in the window.
	MaxRestarts = 1 << 20
	// MaxID is the longest id of a child, in bytes: a UUID, a hash and a name fit.
	MaxID = 255
)

// DefaultIntensity is OTP's: more than one restart within five seconds is too much.
var DefaultIntensity = Intensity{Restarts: 1, Within: 5 * time.Second}

// Intensity is how many restarts a supervisor may make in any window of the given length. One more, and it stops its
// children and ends, so that its own supervisor decides. The zero value means DefaultIntensity; zero restarts with
// a window means none at all.
type Intensity struct {
	Restarts int
	Within   time.Duration
}

// Spec describes a supervisor.
type Spec struct {
	Strategy     Strategy
	Intensity    Intensity
	AutoShutdown AutoShutdown
	// Backoff has children paused instead of the supervisor giving up.
	Backoff Backoff
	// Children in start order. For SimpleOneForOne exactly one: the template, whose ID is not used.
	Children []Child
}

// Child describes one row of a supervisor.
type Child struct {
	// ID is unique among its siblings, at most MaxID bytes, without "/" and control characters.
	ID string
	// Restart is Permanent unless said otherwise.
	Restart Restart
	// Shutdown is the time it may take to stop; see Shutdown for zero.
	Shutdown Shutdown
	// Significant children count for their supervisor's AutoShutdown; they may not be Permanent.
	Significant bool
	// Start is what runs in this row.
	Start Start
	// Mailbox is how many messages may wait, at most MaxMailbox; 0 is DefaultMailbox.
	Mailbox int
	// StartTimeout bounds Init; 0 is DefaultStartTimeout. Of a supervisor it bounds the making of its spec only: its start takes as long
	// as that of its children.
	StartTimeout time.Duration
	// Soft and Hard bound how long the worker may be at one message, and at a Terminate that nobody has ordered: after Soft it is reported
	// as Stuck, after Hard it is fenced off and replaced. 0 is DefaultSoft and DefaultHard, Unwatched no bound. Soft holds for a start too. For a
	// supervisor they bound each step of its own. What counts is time for which the machine could have run it (see supply), not that of the clock,
	// and it begins again with Process.Progress. They do not apply to what owned goroutines do.
	Soft, Hard time.Duration
	// Bulkhead has what hangs in this row and below counted apart from what hangs elsewhere; see MaxHung. It stays what it was when the row was made.
	Bulkhead bool
	// Label is the class of this row for metrics ("session"), so that ids never become labels. It is copied to
	// snapshots and events and has no other effect.
	Label string
}

func (r Restart) String() string {
	return name(r, "permanent", "transient", "temporary")
}

func (s Strategy) String() string {
	return name(s, "one_for_one", "one_for_all", "rest_for_one", "simple_one_for_one")
}

func (a AutoShutdown) String() string {
	return name(a, "never", "any_significant", "all_significant")
}

func name[T ~uint8](v T, names ...string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("invalid(%d)", uint8(v))
}

func (i Intensity) orDefault() Intensity {
	if i == (Intensity{}) {
		return DefaultIntensity
	}
	return i
}

// resolved returns the child with its defaults filled in, so that the rest of the package never asks twice.
func (c Child) resolved() Child {
	if c.Shutdown == 0 {
		c.Shutdown = DefaultShutdown
		if c.Start.Type() == SupervisorType {
			c.Shutdown = Infinity
		}
	}
	if c.Mailbox == 0 {
		c.Mailbox = DefaultMailbox
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = DefaultStartTimeout
	}
	c.Soft = cmp.Or(c.Soft, DefaultSoft)
	c.Hard = cmp.Or(c.Hard, DefaultHard)
	return c
}
