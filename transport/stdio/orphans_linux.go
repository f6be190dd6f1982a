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

// orphans looks after what children start and leave behind. This process is made the parent of it (PR_SET_CHILD_SUBREAPER): such a
// process is found among our children however it has detached itself, and its exit is taken. A nil one does nothing.
type orphans struct {
	report func(Remark)
	done   chan struct{}
	ended  chan struct{}

	mu   sync.Mutex   // guards ours, and is held over each fork: what is not in the books yet would be taken for an orphan
	ours map[int]bool // whose exit somebody waits for
}

// adopt makes this process the one that orphans go to.
func adopt(report func(Remark)) *orphans {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // refused by kernels before 3.4 only
	o := &orphans{report: report, done: make(chan struct{}), ended: make(chan struct{}), ours: map[int]bool{}}
	go o.reap() // owner: close waits for it
	return o
}

// fork runs what forks, and enters the process that it returns, unless that is 0. It is stamped as one with this mark, if there is one.
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
		o.ours[pid] = true
	}
}

// reaped takes a process out of the books. Its number may have passed on already, to an orphan that was not taken because of that.
func (o *orphans) reaped(pid int) {
	if o == nil {
		return
	}
	o.mu.Lock()
	delete(o.ours, pid)
	o.mu.Unlock()
	o.collect()
}

// reap takes the exits of orphans whenever a child of ours has ended.
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

// collect never asks for any child: the exit of one in the books is for whoever waits for it.
func (o *orphans) collect() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, pid := range o.adopted() {
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	}
}

// adopted are the children of ours that are not in the books. The kernel gives orphans to our first thread. The mutex is held.
func (o *orphans) adopted() (pids []int) {
	self := strconv.Itoa(os.Getpid())
	list, err := os.ReadFile("/proc/self/task/" + self + "/children")
	if err != nil {
		return nil
	}
	for _, field := range strings.Fields(string(list)) {
		if pid, err := strconv.Atoi(field); err == nil && !o.ours[pid] {
			pids = append(pids, pid)
		}
	}
	return pids
}

// candidates are the orphans that have not ended.
func (o *orphans) candidates() []int {
	o.collect()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.adopted()
}

// sweep ends what a child that is gone has left outside of its group, politely until hurry is closed. It reports whether nothing is left.
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
			left := look.Signal(o.candidates(), 0)
			if len(left) == 0 && (look.Blank == 0 || time.Since(began) > blankTime) {
				if len(found) > 0 {
					o.report(Remark{What: Escaped, Count: len(found)})
				}
				return true
			}
			for _, pid := range left { // those that the ones before have left, too
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

// carrying looks for the processes that one child has started.
func carrying(mark string) guard.Look {
	stamp := guard.Stamp(mark)
	return guard.Look{Mark: func(entry []byte) bool { return string(entry) == mark }, Stamp: func(s uint64) bool { return s == stamp }}
}

// pauseUnless waits, and reports whether it was cut short.
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

// close ends the orphans that are left: no child is, so they are nobody's any more. It runs when nothing is forked any longer.
func (o *orphans) close() {
	if o == nil {
		return
	}
	for end := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
		left := o.candidates()
		for _, pid := range left {
			o.kill(pid)
		}
		if len(left) == 0 || time.Now().After(end) {
			break
		}
	}
	close(o.done)
	<-o.ended
}

// kill ends an orphan of which nothing is known but that it is ours. Its number is, for as long as its exit is not taken, which is for the
// holder of the mutex.
func (o *orphans) kill(pid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); !errors.Is(err, unix.ECHILD) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// sweepEarlier ends what earlier daemons have left, and returns how many there were. Their guards are about the same, and come first: they tell
// daemons of one lock file apart by few bits of a stamp, which this one has for a moment when it forks, so none may look any more by then.
func sweepEarlier(earlier, own string) (ended, left int) {
	guards := guard.Guards(InstanceVariable + "=" + earlier)
	guards.Await(sweepTime)
	look := guard.Earlier(InstanceVariable+"="+earlier, InstanceVariable+"="+own+"/")
	return look.End(1, sweepTime)
}
