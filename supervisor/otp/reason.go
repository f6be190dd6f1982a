package otp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Reasons for which a child ends. Any other error is an abnormal end. A panic is a *CrashReport.
var (
	// Normal is the reason of a child that has finished its work.
	//lint:ignore ST1012 it is no failure, and OTP calls it normal
	Normal = errors.New("normal")
	// ErrShutdown is the reason of a child that was told to stop, or that ends itself without being
	// counted as failed.
	ErrShutdown = errors.New("shutdown")
	// ErrKilled is the reason of a child that was stopped by BrutalKill or did not stop within its
	// Shutdown.
	ErrKilled = errors.New("killed")
	// ErrGoexit is the reason of a child whose code called runtime.Goexit, for example by t.FailNow in
	// a test.
	ErrGoexit = errors.New("goexit")
	// ErrGiveUp is the reason of a child that wants its supervisor to give up, whatever the restart
	// type of the child and the intensity. The supervisor stops all children and ends with a shutdown
	// that wraps the reason. A supervisor with a Backoff pauses the child instead, unless it is
	// Temporary. OTP has no such reason; suture has one, ErrTerminateSupervisorTree.
	ErrGiveUp = errors.New("give up")
	// ErrStuck is the reason of a child that did not return from a message within its
	// Child.HardTimeout.
	ErrStuck = errors.New("stuck")
	// ErrStartTimeout is the reason of a start that was not ready within Child.StartTimeout.
	ErrStartTimeout = errors.New("start timeout")
)

// Ignore is returned by Init when there is nothing to run. The start succeeds, nothing runs, and
// the row stays with status Stopped. The row of a temporary child or of a pool entry is deleted.
//
//lint:ignore ST1012 it is no failure, and OTP calls it ignore
var Ignore = errors.New("ignore")

// Errors of Ref.Send and of calls.
var (
	// ErrNoProc says that nothing runs at this address now.
	ErrNoProc = errors.New("no process")
	// ErrOverloaded says that the mailbox is full. The message was not accepted; the sender may try
	// again later.
	ErrOverloaded = errors.New("mailbox full")
	// ErrUnhandled says that the receiver takes no such message, or has forgotten to answer: it
	// returned from Receive without an answer to the call and without Call.AnswerLater. Supervisors
	// and services take no messages of others.
	ErrUnhandled = errors.New("takes no such message")
	// ErrTimeout says that no answer came within DefaultCallTimeout.
	ErrTimeout = fmt.Errorf("no answer to the call: %w", context.DeadlineExceeded)
)

// Errors of the functions that administer children, named as in OTP.
var (
	// ErrAlreadyPresent says that the row exists and nothing runs in it.
	ErrAlreadyPresent = errors.New("already present")
	// ErrNotFound says that there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrRunning says that the child runs.
	ErrRunning = errors.New("running")
	// ErrRestarting says that the child is being restarted.
	ErrRestarting = errors.New("restarting")
	// ErrSimpleOneForOne says that the operation is not possible in a pool.
	ErrSimpleOneForOne = errors.New("simple_one_for_one")
	// ErrNotSimple says that arguments were given to a supervisor that has no template.
	ErrNotSimple = errors.New("not a simple_one_for_one")
	// ErrNotSupervisor says that the address is not one of a supervisor.
	ErrNotSupervisor = errors.New("not a supervisor")
	// ErrIntensity says that a supervisor gave up; see IntensityError.
	ErrIntensity = errors.New("restart intensity exceeded")
)

// ErrAlreadyStarted says that a child with this id runs already. Args are the arguments that
// StartChildArgs started it with, so that the caller can tell it from the child that was to be
// started. Args is nil when there were none, or when the child has just ended.
type ErrAlreadyStarted struct {
	Ref  Ref
	Args any
}

func (e ErrAlreadyStarted) Error() string { return "already started: " + e.Ref.Path() }

var (
	errNilBehaviour = errors.New("no behaviour")
	errDuplicate    = errors.New("a tree of that name runs")
	errClosed       = errors.New("system closed")
)

// ShutdownError is OTP's {shutdown, Term}: an ordinary end with an explanation. errors.Is matches
// both ErrShutdown and Term.
type ShutdownError struct{ Term error }

// ShutdownWith makes a reason for an ordinary end that term explains. For a nil term it returns
// ErrShutdown.
func ShutdownWith(term error) error {
	if term == nil {
		return ErrShutdown
	}
	return &ShutdownError{Term: term}
}

func (e *ShutdownError) Error() string   { return "shutdown: " + e.Term.Error() }
func (e *ShutdownError) Unwrap() []error { return []error{ErrShutdown, e.Term} }

// IntensityError says why a supervisor gave up: the restart of Child would have been one too many.
// errors.Is matches ErrIntensity and the reason of the child.
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

// StartError is OTP's failed_to_start_child: the path of the child, and the reason.
type StartError struct {
	Path   string
	Reason error
}

func (e *StartError) Error() string { return fmt.Sprintf("start of %s: %v", e.Path, e.Reason) }
func (e *StartError) Unwrap() error { return e.Reason }

// AbandonedError says that a child did not stop within its time. The child still runs, isolated.
// The error wraps ErrKilled.
type AbandonedError struct {
	Path string
	Time time.Duration // the time that the child had
}

func (e *AbandonedError) Error() string {
	return fmt.Sprintf("%s: not stopped within %s", e.Path, e.Time)
}
func (e *AbandonedError) Unwrap() error { return ErrKilled }

// IsGone reports whether a message was not handled because nothing runs at its address: the
// receiver was stopped, or was killed because it did not stop in time.
func IsGone(reason error) bool {
	return errors.Is(reason, ErrNoProc) || errors.Is(reason, ErrShutdown) ||
		errors.Is(reason, ErrKilled)
}

// IsNormal reports whether reason is an ordinary end, after which a Transient child is not
// restarted: nil, Normal, ErrShutdown, or the result of ShutdownWith. An error that merely wraps
// one of these is abnormal, and so is every panic.
func IsNormal(reason error) bool {
	if reason == nil || reason == Normal || reason == ErrShutdown {
		return true
	}
	_, ok := reason.(*ShutdownError) // only the outermost error counts, as in OTP
	return ok
}
