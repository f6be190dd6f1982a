package stdio

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// handle is the right to signal and to reap one child and its process group. It never signals a number that may have passed to another
// process: signals go through the pidfd where there is one, and otherwise only while the child has not been reaped, since until then
// the kernel does not give its number away.
type handle struct {
	pid   int
	pidfd *os.File // nil where the system has none
	group bool     // signals through the pidfd reach the whole group, even after the leader was reaped (Linux 6.9)

	mu     sync.Mutex // guards reaped, and is held while a number is signalled
	reaped bool
}

// signal sends to the leader. os.ErrProcessDone says that it is gone.
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

// signalGroup sends to every process of the group. Where only numbers can be signalled it does nothing after the leader was reaped;
// wait has then ended the group before.
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

// empty reports whether no process of the group is left. Signal 0 only asks, so that a number is good enough where there is no pidfd.
func (h *handle) empty() bool {
	if h.deserted() { // and its number may be that of another child of ours, whose exit is not to be taken here
		return true
	}
	h.adopt()
	return h.deserted()
}

func (h *handle) deserted() bool {
	if h.group {
		return errors.Is(h.signalGroup(0), os.ErrProcessDone)
	}
	return errors.Is(syscall.Kill(-h.pid, 0), syscall.ESRCH)
}

// adopt reaps what the leader left in its group and the kernel gave to us as its new parent, which happens when we are the first process
// of a container or a subreaper. Unreaped they would count as a living group. It must run after wait.
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

// sweep ends what is left of the group after wait: SIGTERM, a pause, SIGKILL, a pause. It reports whether the group is dead at the end.
func (h *handle) sweep(l Ladder) bool {
	if h.empty() {
		return true
	}
	_ = h.signalGroup(syscall.SIGTERM) // whether it was heard is what the next line finds out
	h.awaitDead(l.Term)
	if h.empty() {
		return true
	}
	_ = h.signalGroup(syscall.SIGKILL) // also after a success: a process whose first thread has ended looks like a zombie
	return h.awaitDead(l.Kill)
}

// awaitDead asks until the group is dead or the time is over: nothing announces the end of a process that is not our child. Zombies count
// as dead. A lazy first process may leave them for seconds, and they can only be told by looking at every process there is, so the pauses
// grow.
func (h *handle) awaitDead(limit time.Duration) bool {
	end := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		if h.empty() || pause > 8*time.Millisecond && onlyZombies(h.pid) {
			return true
		}
		left := time.Until(end)
		if left <= 0 {
			return false
		}
		time.Sleep(min(pause, left))
	}
}

// release gives the pidfd back. Signals find nobody from then on.
func (h *handle) release() {
	if h.pidfd != nil {
		giveBack(h.pidfd)
	}
}

// done turns the kernel's word for a missing process into Go's.
func done(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
