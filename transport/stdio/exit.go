package stdio

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mcpd/transport"
	"mcpd/transport/stdio/cgroup"
)

// The values of Cause in a *transport.ExitError of this package: first those of a program that
// never ran, then those of one that did.
const (
	CauseNotFound   = "not found"   // no such program, interpreter or working directory
	CausePermission = "permission"  // the program exists and may not be executed
	CauseFormat     = "exec format" // the file is no program for this machine
	CauseStart      = "start"       // any other refusal to start: resources, arguments

	CauseHandshake = "exited before handshake"
	CauseUnready   = "no handshake"   // while it still runs
	CauseCode      = "exited"         // with an exit code, which may be 0
	CauseSignal    = "killed"         // by a signal
	CauseMemory    = "out of memory"  // killed by the kernel at the memory limit
	CauseOversized = "oversized line" // much longer than MaxMessage, and still without an end
	CauseStray     = "not a message stream"
	CauseOutput    = "closed its output"   // while it still runs
	CauseInput     = "closed its input"    // while it still runs
	CauseStopped   = "stopped by a signal" // and not continued while a call waited
)

// Exit describes how a program ended.
type Exit struct {
	Code   int            // the exit code; -1 after a signal
	Signal syscall.Signal // the signal that ended the program; 0 for none
	At     time.Time      // when the exit was noticed
	Hit    cgroup.Limits  // those of its limits that the program has reached
}

// errNoInterpreter tells a missing interpreter from a missing program: the kernel reports "no such
// file" for both.
var errNoInterpreter = errors.New("interpreter not found")

// classify returns the cause for an error of finding or executing a program.
func classify(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR),
		errors.Is(err, errNoInterpreter):
		return CauseNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return CausePermission
	case errors.Is(err, syscall.ENOEXEC):
		return CauseFormat
	}
	return CauseStart
}

// startFailed returns the ending of a program that never ran.
func startFailed(cause string, err error) *transport.ExitError {
	return &transport.ExitError{Cause: cause, Code: -1, Err: err}
}

// ending describes how a program that did run ended. A non-empty cause was found on its pipes and
// says more than the exit that followed.
func ending(cause string, exit Exit, exited, ready bool, stderr []byte,
	err error) *transport.ExitError {
	e := &transport.ExitError{Cause: cause, Code: -1, Stderr: stderr, Err: err}
	if exited {
		e.Code = exit.Code
		if exit.Signal != 0 {
			e.Signal = unix.SignalName(exit.Signal)
		}
	}
	switch {
	case e.Cause != "":
	case exit.Hit.Memory > 0:
		e.Cause, e.Err = CauseMemory, fmt.Errorf("it had %s", inBytes(exit.Hit.Memory))
	case exited && !ready:
		e.Cause = CauseHandshake
	case exited && exit.Signal != 0:
		e.Cause = CauseSignal
	case exited:
		e.Cause = CauseCode
	default:
		e.Cause = CauseOutput
	}
	if exit.Hit.Processes > 0 && e.Err == nil {
		e.Err = fmt.Errorf("it was refused more than its %d processes", exit.Hit.Processes)
	}
	return e
}

// inBytes formats a size as configurations do.
func inBytes(n uint64) string {
	for _, u := range []struct {
		name string
		size uint64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}
