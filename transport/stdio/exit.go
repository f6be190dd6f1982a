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

// The causes in a *transport.ExitError of this package: first those of a program that never ran, then those of one that did.
const (
	CauseNotFound   = "not found"   // no such program, interpreter or working directory
	CausePermission = "permission"  // the program is there and may not be executed
	CauseFormat     = "exec format" // the file is no program for this machine
	CauseStart      = "start"       // any other refusal to start: resources, arguments

	CauseHandshake = "exited before handshake"
	CauseUnready   = "no handshake"   // while it went on running
	CauseCode      = "exited"         // with an exit code, which may be 0
	CauseSignal    = "killed"         // by a signal
	CauseMemory    = "out of memory"  // and killed by the kernel for it
	CauseOversized = "oversized line" // much longer than MaxMessage, and still no end
	CauseStray     = "not a message stream"
	CauseOutput    = "closed its output"   // while it went on running
	CauseInput     = "closed its input"    // likewise
	CauseStopped   = "stopped by a signal" // and not continued, while something waited for it
)

// Exit says how a program ended.
type Exit struct {
	Code   int            // exit code; -1 when a signal ended it
	Signal syscall.Signal // 0 when none did
	At     time.Time      // when it was seen
	Hit    cgroup.Limits  // which of its limits it had come up against
}

// errNoInterpreter tells a missing interpreter from a missing program: the kernel says "no such file" to both.
var errNoInterpreter = errors.New("interpreter not found")

// classify finds the cause behind an error of looking for or executing a program.
func classify(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, errNoInterpreter):
		return CauseNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return CausePermission
	case errors.Is(err, syscall.ENOEXEC):
		return CauseFormat
	}
	return CauseStart
}

// started is the ending of a program that never ran.
func started(cause string, err error) *transport.ExitError {
	return &transport.ExitError{Cause: cause, Code: -1, Err: err}
}

// ending describes how a program that did run ended. A cause other than the empty one was found on its pipes and says more than how it
// exited after that.
func ending(cause string, exit Exit, exited, ready bool, stderr []byte, err error) *transport.ExitError {
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

// inBytes writes a size as a configuration does.
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
