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

// Child is a running program with its pipes. It is a plain value with no owner of its own: it may be handed from one actor to the next and
// outlives them. Somebody must call Stop in the end, also when the program has exited by itself.
type Child struct {
	h       *handle
	ladder  Ladder
	stdin   *os.File
	stdout  *os.File
	stderr  *stderr
	settled func()
	trace   trace
	group   *cgroup.Group // nil without limits that need one
	hurry   chan struct{} // closed when the ladder is at its last step
	hurried func()        // closes it
	spoke   atomic.Bool

	exited   chan struct{} // closed when the program has exited; guards exit
	exit     Exit
	gone     chan struct{} // closed when its group is dead, its standard error read, its handle released; guards survived
	survived bool          // a process of the group, or one that had left it, outlived SIGKILL
}

// trace is how what the program starts outside of its group is found.
type trace struct {
	orphans *orphans
	watcher *watcher
	group   uint64 // as the watcher knows it
	mark    string // an entry of the environment
}

func newChild(spec Spec, h *handle, p *pipes, settled func()) *Child {
	hurry, exited := make(chan struct{}), make(chan struct{})
	return &Child{
		hurry:   hurry,
		hurried: sync.OnceFunc(func() { close(hurry) }),
		h:       h,
		ladder:  spec.Ladder,
		stdin:   p.stdin,
		stdout:  p.stdout,
		stderr:  newStderr(p.stderr, spec.Stderr, func() { _ = h.signalGroup(syscall.SIGKILL) }, exited),
		settled: settled,
		exited:  exited,
		gone:    make(chan struct{}),
	}
}

// run follows the program from its start until nothing of it is left.
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
	c.stdin.Close()                                     // whoever writes is told at once, also when something left behind holds the other end
	c.stdout.SetReadDeadline(time.Now().Add(drainTime)) // likewise for whoever reads
	group, strays := c.h.sweep(c.ladder), c.trace.orphans.sweep(c.trace.mark, c.ladder, c.hurry)
	c.group.Kill() // whoever has hidden from both
	c.survived = !c.group.Remove(c.ladder.Kill) || !group || !strays
	c.trace.watcher.forget(c.trace.group)
	c.stderr.settle()
	c.stderr.file.SetReadDeadline(time.Unix(1, 0)) // whoever survived may hold it open
	<-c.stderr.done
	c.h.release()
	close(c.gone)
}

// Pid is the process id, which is also the id of its group. It is for people: signals go through Signal.
func (c *Child) Pid() int { return c.h.pid }

// Stdin is the program's input. A program that does not read blocks whoever writes until the program ends or Stdin is closed.
func (c *Child) Stdin() *os.File { return c.stdin }

// Stdout is the program's output. After the exit it can be read until it is empty: reads then end with os.ErrDeadlineExceeded if a process
// that was left behind keeps it open.
func (c *Child) Stdout() *os.File { return c.stdout }

// Stderr is a copy of the last 4 KiB of its standard error.
func (c *Child) Stderr() []byte { return c.stderr.tail() }

// Exited is closed when the program has exited. What it started may still be running.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Exit tells how the program ended; false while it runs.
func (c *Child) Exit() (Exit, bool) {
	select {
	case <-c.exited:
		return c.exit, true
	default:
		return Exit{}, false
	}
}

// Gone is closed when the program, all of its process group, and what is known to have left that have ended.
func (c *Child) Gone() <-chan struct{} { return c.gone }

// Settled says that the program has started up, and makes room for the next one to start. It may be called more than once.
func (c *Child) Settled() {
	c.spoke.Store(true)
	c.settled()
}

// HasSettled reports whether somebody said so.
func (c *Child) HasSettled() bool { return c.spoke.Load() }

// Signal sends to the program alone. It returns os.ErrProcessDone once the program is gone, never reaching another process.
func (c *Child) Signal(sig syscall.Signal) error { return c.h.signal(sig) }

// Stop ends the program and its whole process group: it closes the input, waits, sends SIGTERM, waits, sends SIGKILL, waits; each step as
// long as the ladder says and all of them within ctx: the last step begins early enough for that, or at once when ctx is over. It returns
// when nothing is left, and an error only if something outlives SIGKILL. It may be called again, and at the same time.
func (c *Child) Stop(ctx context.Context) error {
	c.stdin.Close()
	drained := make(chan struct{})
	go func() { // owner: Stop waits below. A program that blocks on its output could not obey.
		defer close(drained)
		c.discardOutput()
	}()
	c.climb(ctx)
	c.stdout.Close()
	<-drained
	select {
	case <-c.gone:
		if !c.survived {
			return nil
		}
	default:
	}
	return fmt.Errorf("of process group %d something is still alive %s after SIGKILL", c.h.pid, c.ladder.Kill)
}

// climb goes up the ladder until the group is gone.
func (c *Child) climb(ctx context.Context) {
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
		_ = c.h.signalGroup(syscall.SIGTERM) // the next wait shows whether it was heard
		if c.await(hard.Done(), c.ladder.Term) {
			return
		}
	}
	_ = c.h.signalGroup(syscall.SIGKILL)
	c.group.Kill()
	c.hurried()
	c.await(nil, c.ladder.Kill)
}

// await waits for the end of the group, and reports it.
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

// discardOutput reads and forgets until the output ends. A deadline ends a read when the program has exited; until then it is nobody's.
func (c *Child) discardOutput() {
	for {
		_, err := io.Copy(io.Discard, c.stdout)
		if _, over := c.Exit(); over || !os.IsTimeout(err) {
			return
		}
		c.stdout.SetReadDeadline(time.Time{})
	}
}

// discard ends a child that nobody will ever own.
func (c *Child) discard() {
	_ = c.h.signalGroup(syscall.SIGKILL) // gone already is as good
	c.hurried()
	c.stdin.Close()
	c.stdout.Close()
}
