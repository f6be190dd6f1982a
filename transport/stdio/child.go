package stdio

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mcpd/transport/stdio/cgroup"
)

// Child is a running program with its pipes. It is a plain value that no actor owns: one actor may
// hand it to the next, and it outlives them. Its last holder must call Stop, also when the program
// has exited by itself.
type Child struct {
	h          *handle
	ladder     Ladder
	stdin      *os.File
	stdout     *os.File
	stderr     *stderr
	settled    func()
	trace      trace
	group      *cgroup.Group // nil without limits that need a control group
	lastStep   chan struct{} // closed when the ladder is at its last step
	atLastStep func()        // closes it
	hasSettled atomic.Bool

	// exited is closed when the program has exited; it guards exit.
	exited chan struct{}
	exit   Exit
	// gone is closed when the process group is dead, standard error is read and the handle is
	// released; it guards survived.
	gone chan struct{}
	// survived says that a process of the group, or one that had left it, outlived SIGKILL.
	survived bool
}

// trace finds the processes that a program starts outside of its process group.
type trace struct {
	orphans *orphans
	watcher *watcher
	group   uint64 // its key in the watcher
	mark    string // an entry of the environment, NAME=value
}

func newChild(spec Spec, h *handle, p *pipes, settled func()) *Child {
	hurry, exited := make(chan struct{}), make(chan struct{})
	return &Child{
		lastStep:   hurry,
		atLastStep: sync.OnceFunc(func() { close(hurry) }),
		h:          h,
		ladder:     spec.Ladder,
		stdin:      p.stdin,
		stdout:     p.stdout,
		stderr: newStderr(p.stderr, spec.Stderr, func() {
			_ = h.signalGroup(syscall.SIGKILL)
		}, exited),
		settled: settled,
		exited:  exited,
		gone:    make(chan struct{}),
	}
}

// run follows the program until it and all processes that it started have ended.
func (c *Child) run(ended func()) {
	defer ended()
	go c.stderr.drain() // owner: run, which waits below
	status := c.h.wait()
	c.exit = Exit{Code: status.ExitStatus(), At: time.Now(), Hit: c.group.Hit()}
	if status.Signaled() {
		c.exit.Signal = status.Signal()
	}
	c.trace.orphans.reaped(c.h.pid)
	close(c.exited)
	c.settled()
	// Writers get an error at once, even if a process left behind holds the other end.
	c.stdin.Close()
	c.stdout.SetReadDeadline(time.Now().Add(emptyPipeTime)) // readers get one when the rest is read
	group, strays := c.h.sweep(c.ladder), c.trace.orphans.sweep(c.trace.mark, c.ladder, c.lastStep)
	c.group.Kill() // processes that both sweeps missed
	c.survived = !c.group.Remove(c.ladder.Kill) || !group || !strays
	c.trace.watcher.forget(c.trace.group)
	c.stderr.settle()
	c.stderr.file.SetReadDeadline(time.Unix(1, 0)) // survivors may hold it open
	<-c.stderr.done
	c.h.release()
	close(c.gone)
}

// Pid is the process id, which is also the id of the process group. It is for display; signals go
// through Signal.
func (c *Child) Pid() int { return c.h.pid }

// Stdin is the program's input. A program that does not read blocks its writers until it ends or
// Stdin is closed.
func (c *Child) Stdin() *os.File { return c.stdin }

// Stdout is the program's output. After the exit it can be read until it is empty; reads then end
// with os.ErrDeadlineExceeded if a process left behind keeps it open.
func (c *Child) Stdout() *os.File { return c.stdout }

// Stderr returns a copy of the last 4 KiB of the program's standard error.
func (c *Child) Stderr() []byte { return c.stderr.tail() }

// Exited returns a channel that is closed when the program has exited. Processes that it started
// may still run.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Exit returns how the program ended; false while it runs.
func (c *Child) Exit() (Exit, bool) {
	select {
	case <-c.exited:
		return c.exit, true
	default:
		return Exit{}, false
	}
}

// Gone returns a channel that is closed when the program, its whole process group, and all
// processes known to have left the group have ended.
func (c *Child) Gone() <-chan struct{} { return c.gone }

// Settled notes that the program has started up, and makes room for the next start. It may be
// called more than once.
func (c *Child) Settled() {
	c.hasSettled.Store(true)
	c.settled()
}

// HasSettled reports whether Settled was called.
func (c *Child) HasSettled() bool { return c.hasSettled.Load() }

// Signal sends sig to the program alone. It returns os.ErrProcessDone once the program has ended,
// and never reaches another process.
func (c *Child) Signal(sig syscall.Signal) error { return c.h.signal(sig) }

// Stop ends the program and its whole process group. It closes the input, waits, sends SIGTERM,
// waits, sends SIGKILL, waits. Each step takes as long as the ladder says and all of them stay
// within ctx: the last step begins early enough for that, or at once when ctx is over. Stop returns
// when no process is left, with an error only if one outlives SIGKILL. It may be called again, also
// concurrently.
func (c *Child) Stop(ctx context.Context) error {
	c.stdin.Close()
	drained := make(chan struct{})
	// owner: Stop waits below. A program that blocks on its output could not obey.
	go func() {
		defer close(drained)
		c.discardOutput()
	}()
	c.runLadder(ctx)
	c.stdout.Close()
	<-drained
	select {
	case <-c.gone:
		if !c.survived {
			return nil
		}
	default:
	}
	return fmt.Errorf("a process of group %d is still alive %s after SIGKILL", c.h.pid,
		c.ladder.Kill)
}

// runLadder takes the steps of the ladder until the group is gone.
func (c *Child) runLadder(ctx context.Context) {
	hard := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		hard, cancel = context.WithDeadline(ctx, deadline.Add(-c.ladder.Kill))
		defer cancel()
	}
	if c.await(hard.Done(), c.ladder.EOF) {
		return
	}
	if hard.Err() == nil {
		_ = c.h.signalGroup(syscall.SIGTERM) // the next wait shows whether it worked
		if c.await(hard.Done(), c.ladder.Term) {
			return
		}
	}
	_ = c.h.signalGroup(syscall.SIGKILL)
	c.group.Kill()
	c.atLastStep()
	c.await(nil, c.ladder.Kill)
}

// await waits for the end of the group, and reports whether it came.
func (c *Child) await(cut <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.gone:
		return true
	case <-cut:
		return false
	case <-timer.C:
		return false
	}
}

// discardOutput reads and discards output until its end. A read deadline ends the reading only
// after the program has exited; an earlier deadline is left over and is removed.
func (c *Child) discardOutput() {
	for {
		_, err := io.Copy(io.Discard, c.stdout)
		if _, over := c.Exit(); over || !os.IsTimeout(err) {
			return
		}
		c.stdout.SetReadDeadline(time.Time{})
	}
}

// discard ends a child that has no owner and gets none.
func (c *Child) discard() {
	_ = c.h.signalGroup(syscall.SIGKILL) // an error means that it has ended already
	c.atLastStep()
	c.stdin.Close()
	c.stdout.Close()
}
