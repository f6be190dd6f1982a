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
	Transient                // after an abnormal end: not after Normal, ErrShutdown, ShutdownWith
	Temporary                // never; the row is deleted when the child ends
)

// Strategy says what else is restarted when one child ends.
type Strategy uint8

// Strategies.
const (
	OneForOne       Strategy = iota // only the child that ended
	OneForAll                       // all children: stopped in reverse, started in order
	RestForOne                      // the child that ended and those started after it
	SimpleOneForOne                 // a pool of children from one template; only the child that ended
)

// AutoShutdown says whether a supervisor ends when significant children have ended by themselves.
type AutoShutdown uint8

// Kinds of automatic shutdown.
const (
	Never          AutoShutdown = iota // it does not
	AnySignificant                     // it ends when one significant child has ended
	AllSignificant                     // it ends when the last significant child has ended
)

// Shutdown is how long a child may take to stop before it is abandoned. Zero means the default:
// DefaultShutdown (5 s) for workers and services, Infinity for supervisors.
type Shutdown = time.Duration

// Values of Shutdown that are not a length of time.
const (
	// BrutalKill gives no time: Terminate is not called. A child that is busy is abandoned after 50
	// ms.
	BrutalKill Shutdown = -1
	// Infinity waits as long as the child takes. It is the default for supervisors.
	Infinity Shutdown = -2
)

// Bounds and defaults.
const (
	// DefaultShutdown is the default of Child.Shutdown for workers, as in OTP.
	DefaultShutdown Shutdown = 5 * time.Second
	// DefaultStartTimeout is the default of Child.StartTimeout, which bounds a worker's Init. OTP has
	// no such bound; here one stuck Init would hold up a whole tree.
	DefaultStartTimeout = 10 * time.Second
	// DefaultSoftTimeout is the default of Child.SoftTimeout: a worker that is at the same message for
	// this long is reported. A message normally takes microseconds; a client begins to notice a delay
	// of this length.
	DefaultSoftTimeout = time.Second
	// DefaultHardTimeout is the default of Child.HardTimeout: a worker that is at the same message for
	// this long is replaced. The time is longer than any normal pause of the machine, and short enough
	// that most callers are still waiting.
	DefaultHardTimeout = 5 * time.Second
	// NoTimeout, as Child.SoftTimeout or Child.HardTimeout, switches that bound off.
	NoTimeout time.Duration = -1
	// DefaultMailbox is the default of Child.Mailbox: the number of messages that may wait for a
	// worker. At some microseconds a message they are a few milliseconds of work. A sender that is
	// further ahead should get ErrOverloaded.
	DefaultMailbox = 1024
	// MaxMailbox is the largest Child.Mailbox: 2^20 waiting messages take 24 MiB of slots.
	MaxMailbox = 1 << 20
	// MaxRestarts is the largest Intensity.Restarts. The window takes 8 bytes for each restart.
	MaxRestarts = 1 << 20
	// MaxID is the longest id of a child, in bytes: a UUID, a hash or a name fits.
	MaxID = 255
)

// DefaultIntensity is OTP's default: one restart within five seconds is allowed, a second one is
// too many.
var DefaultIntensity = Intensity{Restarts: 1, Within: 5 * time.Second}

// Intensity is how many restarts a supervisor may make in any window of length Within. With one
// restart more, the supervisor stops its children and ends, so that its own supervisor decides. The
// zero value means DefaultIntensity. Zero Restarts with a Within above zero allows no restart.
type Intensity struct {
	Restarts int
	Within   time.Duration
}

// Spec describes a supervisor.
type Spec struct {
	// Strategy says what else is restarted with a child; the zero value is OneForOne.
	Strategy Strategy
	// Intensity bounds the restarts; the zero value means DefaultIntensity (1 in 5 s).
	Intensity Intensity
	// AutoShutdown says whether the supervisor ends with its significant children; the zero value is
	// Never.
	AutoShutdown AutoShutdown
	// Backoff, when set, makes the supervisor pause children instead of giving up. The zero value is
	// off.
	Backoff Backoff
	// Children are in start order. For SimpleOneForOne there is exactly one: the template, whose ID is
	// not used.
	Children []Child
}

// Child describes one row of a supervisor.
type Child struct {
	// ID is unique among its siblings, has at most MaxID bytes, and no "/" or control character.
	ID string
	// Restart is the restart type; the zero value is Permanent.
	Restart Restart
	// Shutdown is the time that the child may take to stop; see the type for the meaning of zero.
	Shutdown Shutdown
	// Significant children count for their supervisor's AutoShutdown; they may not be Permanent.
	Significant bool
	// Start says what runs in this row.
	Start Start
	// Mailbox is how many messages may wait, at most MaxMailbox. 0 means DefaultMailbox (1024).
	Mailbox int
	// StartTimeout bounds Init. 0 means DefaultStartTimeout (10 s). For a supervisor it bounds only
	// the making of its spec: the start of a supervisor takes as long as the starts of its children.
	StartTimeout time.Duration
	// SoftTimeout and HardTimeout bound how long the worker may be at one message, or at a Terminate
	// that nobody has ordered. After SoftTimeout the worker is reported with a Stuck event; after
	// HardTimeout it is isolated and replaced. 0 means DefaultSoftTimeout (1 s) and DefaultHardTimeout
	// (5 s), NoTimeout means no bound. SoftTimeout applies to a start too. For a supervisor they bound
	// each step of its own work.
	//
	// Only time for which the machine could have run the worker counts, not time on the clock; see
	// Options.Contention. Process.Progress starts the count again. Owned goroutines (Process.Go) are
	// not bounded.
	SoftTimeout, HardTimeout time.Duration
	// FailureDomain makes this row a failure domain: goroutines that are stuck in this row and below
	// are counted apart from those elsewhere; see MaxIsolated. The value is fixed when the row is
	// made.
	FailureDomain bool
	// Label is the class of this row for metrics ("session"), so that ids never become labels. It is
	// copied to snapshots and events, and groups the high-water marks of System.Mailboxes.
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

// resolved returns the child with its defaults filled in, so that no other code applies them.
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
	c.SoftTimeout = cmp.Or(c.SoftTimeout, DefaultSoftTimeout)
	c.HardTimeout = cmp.Or(c.HardTimeout, DefaultHardTimeout)
	return c
}
