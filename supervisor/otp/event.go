package otp

import "time"

// Event is something that happened in a tree; Options.Events receives it. The concrete types are the values below.
type Event interface {
	// Where is the path of the row it is about.
	Where() string
	event()
}

// Row is what every event says about the row it happened to.
type Row struct {
	Path        string
	Label       string // Child.Label
	Type        Type
	Incarnation uint64
	At          time.Time
}

// Where is the row's path.
func (r Row) Where() string { return r.Path }
func (Row) event()          {}

type (
	// ChildStarted: an incarnation is ready for the first time in this row since it was started by its supervisor,
	// StartChild or RestartChild.
	ChildStarted struct{ Row }

	// ChildExited: an incarnation has ended.
	ChildExited struct {
		Row
		Reason error
		Report *CrashReport // nil after an ordinary end
	}

	// ChildRestarted: a new incarnation is ready after the supervisor restarted the row.
	ChildRestarted struct {
		Row
		Restarts uint32        // of this row, this one included
		InPlace  bool          // same process and mailbox; false: a new process
		Took     time.Duration // from the end of the old incarnation (its report's At) to readiness
		Reason   error         // of that end, as its ChildExited had it
	}

	// StartFailed: an incarnation did not become ready.
	StartFailed struct {
		Row
		Reason error
		Report *CrashReport // nil unless Init panicked
	}

	// IntensityExceeded: the supervisor of this row gives up.
	IntensityExceeded struct {
		Row
		Err *IntensityError
	}

	// ChildPaused: the child's restarts exceed the intensity of a supervisor with a Backoff.
	ChildPaused struct {
		Row
		Reason error
		For    time.Duration
	}

	// CrashCharged: the child has crashed on a message of an origin, which does not count against it.
	CrashCharged struct {
		Row
		Origin string
		Reason error
		Times  int           // that it has done so in a row, each within RepeatTime of the one before
		Hold   time.Duration // for which the child takes no message of the origin now
	}

	// SupervisorStopped: a supervisor and everything below it has ended.
	SupervisorStopped struct {
		Row
		Reason error
	}

	// Abandoned: something did not stop in time and was fenced off. It still runs; what it does has no effect.
	Abandoned struct {
		Row
		// Goroutine is the name of the owned goroutine that did not end; "" when it is the worker itself.
		Goroutine string
		Budget    time.Duration
	}

	// Stuck: a worker is at one message for longer than its Child.Soft. It is not ended for that.
	Stuck struct {
		Row
		For    time.Duration // as far as the machine could have run it
		Report *CrashReport  // of what it is at; its PCs are where it was when somebody looked, empty when it was not found
	}

	// Overloaded: messages were refused because the mailbox was full. One event stands for all refusals until
	// the mailbox has been empty again.
	Overloaded struct {
		Row
		Mailbox int // its bound
	}

	// HeirDropped: an incarnation goes on without what the ones before it had left.
	HeirDropped struct {
		Row
		Reason string // a few words, out of the code
	}

	// TerminatePanicked: code that runs at the end of an incarnation panicked; the end went on.
	TerminatePanicked struct {
		Row
		Report *CrashReport
	}
)
