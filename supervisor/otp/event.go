package otp

import "time"

// Event is something that happened in a tree. Options.Events receives it. The concrete types are
// the structs below, as values.
type Event interface {
	// Where returns the path of the row that the event is about.
	Where() string
	event()
}

// Row is the part that all events have in common: the row that the event is about.
type Row struct {
	Path        string
	Label       string // Child.Label
	Type        Type
	Incarnation uint64
	At          time.Time
}

// Where returns the path of the row.
func (r Row) Where() string { return r.Path }
func (Row) event()          {}

type (
	// ChildStarted says that an incarnation is ready: the first one since the row was started by its
	// supervisor, StartChild or RestartChild.
	ChildStarted struct{ Row }

	// ChildExited says that an incarnation has ended.
	ChildExited struct {
		Row
		Reason error
		Report *CrashReport // nil after an ordinary end
	}

	// ChildRestarted says that a new incarnation is ready after the supervisor restarted the row.
	ChildRestarted struct {
		Row
		Restarts uint32 // of this row, including this one
		InPlace  bool   // true: same process and mailbox; false: a new process
		// Took is the time from the end of the old incarnation (CrashReport.At of its report) until the
		// new one is ready.
		Took time.Duration
		// Reason is why the old incarnation ended, as its ChildExited had it.
		Reason error
	}

	// StartFailed says that an incarnation did not become ready.
	StartFailed struct {
		Row
		Reason error
		Report *CrashReport // nil unless Init panicked
	}

	// IntensityExceeded says that the supervisor of this row gives up.
	IntensityExceeded struct {
		Row
		Err *IntensityError
	}

	// ChildPaused says that a supervisor with a Backoff pauses the child for the time For. Either its
	// restarts exceed the intensity, or the child itself is at fault (see OwnFaultOrigins), or it did
	// not start at boot (see Backoff.AtStart).
	ChildPaused struct {
		Row
		Reason error
		For    time.Duration
	}

	// CrashCharged says that the child crashed on a message of an origin. The crash does not count
	// against the child.
	CrashCharged struct {
		Row
		Origin string
		Reason error
		// Times counts the crashes in a row, each within CrashRepeatTime of the one before (and of its
		// Pause).
		Times int
		// Pause is how long the child takes no message of the origin now.
		Pause time.Duration
	}

	// SupervisorStopped says that a supervisor and everything below it has ended.
	SupervisorStopped struct {
		Row
		Reason error
	}

	// Abandoned says that something did not stop in time and was isolated. It still runs, but its
	// actions have no effect.
	Abandoned struct {
		Row
		// Goroutine is the name of the owned goroutine that did not end, "" when it is the worker itself.
		Goroutine string
		Budget    time.Duration
	}

	// Stuck says that a worker or supervisor has been at one message for longer than its
	// Child.SoftTimeout. This event does not end it.
	Stuck struct {
		Row
		For time.Duration // time for which the machine could have run it
		// Report describes the message. Its PCs are where the worker was when the stack was taken, empty
		// when its goroutine was not found.
		Report *CrashReport
	}

	// Overloaded says that messages were refused because the mailbox was full. One event stands for
	// all refusals until the mailbox has been empty again.
	Overloaded struct {
		Row
		Mailbox int // the bound of the mailbox
	}

	// StateDropped says that the next incarnation runs without the carried state of the earlier ones.
	StateDropped struct {
		Row
		Reason string // a few fixed words
	}

	// TerminatePanicked says that code which runs at the end of an incarnation panicked. The end
	// continued.
	TerminatePanicked struct {
		Row
		Report *CrashReport
	}
)
