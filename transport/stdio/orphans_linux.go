package stdio

import (
	"errors"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mcpd/transport/stdio/guard"
)

// orphans looks after processes that children start and leave behind. The host makes itself their
// parent (PR_SET_CHILD_SUBREAPER): an orphan is then found among the host's children however it has
// detached itself, and the host reaps it. A nil orphans does nothing.
type orphans struct {
	report func(Remark)
	done   chan struct{}
	ended  chan struct{}

	// mu guards ours. It is held over each fork, because a child that is not registered yet would be
	// taken for an orphan.
	mu         sync.Mutex
	registered map[int]bool // the registered children: other code reaps them
}

// adopt makes this process the parent of orphans.
func adopt(report func(Remark)) *orphans {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // fails only before Linux 3.4
	o := &orphans{
		report: report, done: make(chan struct{}), ended: make(chan struct{}), registered: map[int]bool{},
	}
	go o.reap() // owner: close waits for it
	return o
}

// fork calls start, which forks, and registers the process id that start returns, unless it is 0. A
// non-empty mark is stamped on the process.
func (o *orphans) fork(mark string, start func() int) {
	if o == nil {
		start()
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	pid := 0
	if mark == "" {
		pid = start()
	} else {
		pid = stamp(mark, start)
	}
	if pid > 0 {
		o.registered[pid] = true
	}
}

// reaped unregisters a process that was reaped. Its number may belong to an orphan by now, which
// was not reaped while the number was registered; so the orphans are reaped again.
func (o *orphans) reaped(pid int) {
	if o == nil {
		return
	}
	o.mu.Lock()
	delete(o.registered, pid)
	o.mu.Unlock()
	o.collect()
}

// reap reaps orphans whenever a child of this process has ended.
func (o *orphans) reap() {
	defer close(o.ended)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for {
		select {
		case <-ended:
			o.collect()
		case <-o.done:
			return
		}
	}
}

// collect reaps the orphans that have ended. It waits for each of them by its number, never for any
// child (-1): the exit of a registered child is for its own waiter.
func (o *orphans) collect() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, pid := range o.adopted() {
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	}
}

// adopted returns the children of this process that are not registered. The kernel gives orphans to
// the first thread. The mutex is held.
func (o *orphans) adopted() (pids []int) {
	self := strconv.Itoa(os.Getpid())
	list, err := os.ReadFile("/proc/self/task/" + self + "/children")
	if err != nil {
		return nil
	}
	for _, field := range strings.Fields(string(list)) {
		if pid, err := strconv.Atoi(field); err == nil && !o.registered[pid] {
			pids = append(pids, pid)
		}
	}
	return pids
}

// candidates returns the orphans that have not ended.
func (o *orphans) candidates() []int {
	o.collect()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.adopted()
}

// sweep ends the processes that an exited child has left outside of its group, politely until hurry
// is closed. It reports whether none is left.
func (o *orphans) sweep(mark string, l Ladder, hurry <-chan struct{}) bool {
	if o == nil {
		return true
	}
	look := carrying(mark)
	found := map[int]bool{}
	began := time.Now()
	for _, step := range []struct {
		signal syscall.Signal
		limit  time.Duration
		cut    <-chan struct{}
	}{{syscall.SIGTERM, l.Term, hurry}, {syscall.SIGKILL, l.Kill, nil}} {
		told := map[int]bool{}
		end := time.Now().Add(step.limit)
		for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
			look.Blank = 0
			remaining := look.Signal(o.candidates(), 0)
			if len(remaining) == 0 && (look.Blank == 0 || time.Since(began) > blankTime) {
				if len(found) > 0 {
					o.report(Remark{What: Escaped, Count: len(found)})
				}
				return true
			}
			for _, pid := range remaining { // including those started by the ones before
				if !told[pid] {
					look.Signal([]int{pid}, step.signal)
					told[pid], found[pid] = true, true
				}
			}
			if time.Now().After(end) || pauseUnless(step.cut, wait) {
				break
			}
		}
	}
	return false
}

// carrying finds the processes that one child has started.
func carrying(mark string) guard.Look {
	stamp := guard.Stamp(mark)
	return guard.Look{Mark: func(entry []byte) bool {
		return string(entry) == mark
	}, Stamp: func(s uint64) bool { return s == stamp }}
}

// pauseUnless waits, and reports whether cut ended the wait.
func pauseUnless(cut <-chan struct{}, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-cut:
		return true
	case <-timer.C:
		return false
	}
}

// close ends the remaining orphans. All children are gone, so no orphan belongs to any. It runs
// when nothing forks any more.
func (o *orphans) close() {
	if o == nil {
		return
	}
	for end := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
		remaining := o.candidates()
		for _, pid := range remaining {
			o.kill(pid)
		}
		if len(remaining) == 0 || time.Now().After(end) {
			break
		}
	}
	close(o.done)
	<-o.ended
}

// kill ends an orphan without a check of its mark. The number still belongs to the orphan if it is
// a child at all: a number is free only after its process was reaped, which needs the mutex.
func (o *orphans) kill(pid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT,
		nil); !errors.Is(err, unix.ECHILD) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// sweepEarlier ends the processes that earlier daemons have left, and returns how many ended and
// how many are left. The guards of earlier daemons do the same, so they are awaited first. A guard
// tells daemons of one lock file apart by few bits of a stamp, and this daemon carries a stamp for
// a moment whenever it forks: so no guard may look any more by then.
func sweepEarlier(earlier, own string) (ended, remaining int) {
	guards := guard.Guards(InstanceVariable + "=" + earlier)
	guards.Await(sweepTime)
	look := guard.Earlier(InstanceVariable+"="+earlier, InstanceVariable+"="+own+"/")
	return look.End(1, sweepTime)
}
