package otp

import (
	"errors"
	"fmt"
	"time"
)

// Reasons with which a child ends. Any other error is an abnormal end; a panic is a *CrashReport.
var (
	// Normal is the end of a child that has done its work.
	//lint:ignore ST1012 it is no failure, and OTP calls it normal
	Normal = errors.New("normal")
	// ErrShutdown is the end of a child that was told to stop, or that wants to end without being counted.
	ErrShutdown = errors.New("shutdown")
	// ErrKilled is the end of a child that was stopped by BrutalKill or did not stop within its time.
	ErrKilled = errors.New("killed")
	// ErrGoexit is the end of a child whose code called runtime.Goexit (a t.FailNow in a test, for instance).
	ErrGoexit = errors.New("goexit")
	// ErrGiveUp is the end of a child that wants its supervisor to give up, whatever its restart type and the
	// intensity: all children are stopped, and the supervisor ends with a shutdown that wraps the reason. OTP has no
	// such reason; suture has, as ErrTerminateSupervisorTree.
	ErrGiveUp = errors.New("give up")
	// ErrStuck is the end of a child that did not come back from a message within its Child.Hard.
	ErrStuck = errors.New("stuck")
	// ErrStartTimeout is a start that did not become ready within StartTimeout.
	ErrStartTimeout = errors.New("start timeout")
)

// Ignore is returned by Init when there is nothing to run. The start succeeds, nothing runs, and the row stays with
// status stopped; the row of a temporary child or of a pool entry is deleted.
//
//lint:ignore ST1012 it is no failure, and OTP calls it ignore
var Ignore = errors.New("ignore")

// Errors of Ref.Send and of calls.
var (
	// ErrNoProc says that nothing runs at this address now.
	ErrNoProc = errors.New("no process")
	// ErrOverloaded says that the mailbox is full. The message was not accepted.
	ErrOverloaded = errors.New("mailbox full")
)

// Errors of the functions that administer children, as OTP names them.
var (
	ErrAlreadyPresent  = errors.New("already present")          // the row exists, nothing runs in it
	ErrNotFound        = errors.New("not found")                // no such row
	ErrRunning         = errors.New("running")                  // the child runs
	ErrRestarting      = errors.New("restarting")               // the child is being restarted
	ErrSimpleOneForOne = errors.New("simple_one_for_one")       // not possible in a pool
	ErrNotSimple       = errors.New("not a simple_one_for_one") // arguments given to a supervisor without template
	ErrNotSupervisor   = errors.New("not a supervisor")
	ErrIntensity       = errors.New("restart intensity exceeded")
)

// ErrAlreadyStarted says that a child of that id runs already. Args are those that it was started
// with by StartChildArgs, so that its owner can tell it from the child that was to be started; nil
// where there are none, or where the child has just ended.
type ErrAlreadyStarted struct {
	Ref  Ref
	Args any
}

func (e ErrAlreadyStarted) Error() string { return "already started: " + e.Ref.Path() }

var (
	errNilBehaviour = errors.New("no behaviour")
	errUnexpected   = errors.New("takes no messages")
	errDuplicate    = errors.New("a tree of that name runs")
	errClosed       = errors.New("system closed")
)

// ShutdownError is OTP's {shutdown, Term}: an ordinary end with an explanation. It is ErrShutdown to errors.Is, and
// so is Term.
type ShutdownError struct{ Term error }

// ShutdownWith makes an ordinary end of term, which explains it. A nil term is ErrShutdown.
func ShutdownWith(term error) error {
	if term == nil {
		return ErrShutdown
	}
	return &ShutdownError{Term: term}
}

func (e *ShutdownError) Error() string   { return "shutdown: " + e.Term.Error() }
func (e *ShutdownError) Unwrap() []error { return []error{ErrShutdown, e.Term} }

// IntensityError is why a supervisor gave up: the restart of Child would have been one too many. It is ErrIntensity
// to errors.Is, and wraps the reason with which the child had ended.
type IntensityError struct {
	Path      string // the supervisor
	Child     string // id of the child that ended last
	Intensity Intensity
	Reason    error // why that child ended
}

func (e *IntensityError) Error() string {
	return fmt.Sprintf("%s: more than %d restarts in %s: %s: %v",
		e.Path, e.Intensity.Restarts, e.Intensity.Within, e.Child, e.Reason)
}
func (e *IntensityError) Unwrap() []error { return []error{ErrIntensity, e.Reason} }

// StartError is OTP's failed_to_start_child: the child, by its path, and why.
type StartError struct {
	Path   string
	Reason error
}

func (e *StartError) Error() string { return fmt.Sprintf("start of %s: %v", e.Path, e.Reason) }
func (e *StartError) Unwrap() error { return e.Reason }

// AbandonedError is what a budget for stopping ends with when a child did not stop: it still runs, fenced off.
type AbandonedError struct {
	Path string
	Time time.Duration // what it had been given
}

func (e *AbandonedError) Error() string {
	return fmt.Sprintf("%s: not stopped within %s", e.Path, e.Time)
}
func (e *AbandonedError) Unwrap() error { return ErrKilled }

// IsGone reports whether a message was not handled because nothing runs at its address: it was
// stopped, or killed because it did not stop in time.
func IsGone(reason error) bool {
	return errors.Is(reason, ErrNoProc) || errors.Is(reason, ErrShutdown) || errors.Is(reason, ErrKilled)
}

// IsNormal reports whether a reason is an ordinary end, after which a Transient child is not restarted: Normal,
// ErrShutdown, or what ShutdownWith makes. An error that merely wraps one of them is not, and a panic never is.
func IsNormal(reason error) bool {
	if reason == nil || reason == Normal || reason == ErrShutdown {
		return true
	}
	_, ok := reason.(*ShutdownError) // the outermost only, as OTP matches it
	return ok
}
