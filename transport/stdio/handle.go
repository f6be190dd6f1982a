package stdio

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// handle signals and reaps one child and its process group. It never signals a number that may have
// passed to another process. Signals go through the pidfd where there is one. Otherwise they are
// sent only while the child has not been reaped: until then the kernel does not give its number
// away.
type handle struct {
	pid   int
	pidfd *os.File // nil where the system has none
	// group says that signals through the pidfd reach the whole group, even after the leader was
	// reaped (Linux 6.9).
	group bool

	mu     sync.Mutex // guards reaped; held while a number is signalled
	reaped bool
}

// signal sends sig to the leader. It returns os.ErrProcessDone when the leader has ended.
func (h *handle) signal(sig syscall.Signal) error {
	if h.pidfd != nil {
		return done(h.sendPidfd(sig, false))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reaped {
		return os.ErrProcessDone
	}
	return done(syscall.Kill(h.pid, sig))
}

// signalGroup sends sig to every process of the group. On a system that can only signal numbers it
// does nothing after the leader was reaped; wait has then ended the group before.
func (h *handle) signalGroup(sig syscall.Signal) error {
	if h.group {
		return done(h.sendPidfd(sig, true))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reaped {
		return os.ErrProcessDone
	}
	return done(syscall.Kill(-h.pid, sig))
}

// empty reports whether no process of the group is left. Signal 0 only asks, so a number is good
// enough where there is no pidfd.
func (h *handle) empty() bool {
	// The number of an empty group may belong to another child by now. Its exit must not be taken
	// here.
	if h.groupGone() {
		return true
	}
	h.adopt()
	return h.groupGone()
}

func (h *handle) groupGone() bool {
	if h.group {
		return errors.Is(h.signalGroup(0), os.ErrProcessDone)
	}
	return errors.Is(syscall.Kill(-h.pid, 0), syscall.ESRCH)
}

// adopt reaps processes that the leader left in its group and that the kernel gave to this process
// as their new parent. The kernel does so when this process is the first of a container, or a
// subreaper. Unreaped they would count as a living group. adopt must run after wait.
func (h *handle) adopt() {
	for {
		pid, err := syscall.Wait4(-h.pid, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if pid <= 0 {
			return
		}
	}
}

// sweep ends the rest of the group after wait: SIGTERM, a pause, SIGKILL, a pause. It reports
// whether the group is dead at the end.
func (h *handle) sweep(l Ladder) bool {
	if h.empty() {
		return true
	}
	_ = h.signalGroup(syscall.SIGTERM) // the next line finds out whether it worked
	h.awaitDead(l.Term)
	if h.empty() {
		return true
	}
	// Also after a success: a process whose first thread has ended looks like a zombie.
	_ = h.signalGroup(syscall.SIGKILL)
	return h.awaitDead(l.Kill)
}

// awaitDead polls until the group is dead or the time is over, because nothing announces the end of
// a process that is not our child. Zombies count as dead. A lazy first process (pid 1) may leave
// them unreaped for seconds, and only a look at every process on the system can recognise them, so
// the pauses grow.
func (h *handle) awaitDead(limit time.Duration) bool {
	end := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		if h.empty() || pause > 8*time.Millisecond && onlyZombies(h.pid) {
			return true
		}
		remaining := time.Until(end)
		if remaining <= 0 {
			return false
		}
		time.Sleep(min(pause, remaining))
	}
}

// release closes the pidfd. Later signals reach no process.
func (h *handle) release() {
	if h.pidfd != nil {
		closeFile(h.pidfd)
	}
}

// done translates the kernel's error for a missing process into Go's.
func done(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
