package stdio

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mcpd/transport/stdio/guard"
)

// watcher keeps a guard process beside the host. When the host ends, however it ends, the guard
// sees its socket close and ends all remaining children of the host. A guard that ends earlier is
// started again. A nil watcher does nothing.
type watcher struct {
	mark    string // the children's mark, as an entry of their environment
	orphans *orphans
	report  func(Remark)
	closing chan struct{}
	ended   chan struct{}

	mu     sync.Mutex // guards what follows
	guard  *handle    // nil while there is none
	socket int        // the host's end of the connection
	last   uint64
	groups map[uint64]*handle
}

// watch starts the guard and returns when the guard runs, or could not be started.
func watch(instance string, o *orphans, report func(Remark)) *watcher {
	w := &watcher{
		mark: InstanceVariable + "=" + instance + "/", orphans: o, report: report,
		groups:  map[uint64]*handle{},
		closing: make(chan struct{}), ended: make(chan struct{}),
	}
	err := w.start()
	go w.run(err) // owner: close waits for it
	return w
}

// run waits for the guard to end, and starts the next one. The pause between two starts grows while
// guards keep ending.
func (w *watcher) run(err error) {
	defer close(w.ended)
	for pause := guardPause; ; pause = min(2*pause, maxGuardPause) {
		if err == nil {
			began := time.Now()
			err = w.wait()
			if time.Since(began) > maxGuardPause {
				pause = guardPause
			}
		}
		select {
		case <-w.closing:
			return
		default:
		}
		w.report(Remark{What: GuardLost, Err: err})
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			err = w.start()
		case <-w.closing:
			timer.Stop()
			return
		}
	}
}

// start starts a guard and tells it of every existing group. Groups that start in the meantime are
// found by their mark.
func (w *watcher) start() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		unix.Close(pair[0])
		unix.Close(pair[1])
		return err
	}
	defer null.Close()
	pidfd := -1
	attr := &syscall.ProcAttr{
		Dir: "/", Env: []string{guard.Variable + "=" + w.mark, "GOMAXPROCS=1"},
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), uintptr(pair[1])},
		// In its own session the guard gets no signal to the host's group or terminal.
		Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd},
	}
	var pid int
	w.orphans.fork("", func() int {
		pid, _, err = syscall.StartProcess("/proc/self/exe",
			[]string{fmt.Sprintf("mcpd: guard of %d", os.Getpid())}, attr)
		return pid
	})
	unix.Close(pair[1])
	if err != nil {
		unix.Close(pair[0])
		return os.NewSyscallError("guard", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.guard, w.socket = newHandle(pid, pidfd, false), pair[0]
	keys := make([]uint64, 0, min(len(w.groups), guard.Batch))
	for key := range w.groups {
		if keys = append(keys, key); len(keys) == guard.Batch {
			w.tell(keys)
			keys = keys[:0]
		}
	}
	w.tell(keys)
	select {
	case <-w.closing:
		_ = unix.Shutdown(w.socket, unix.SHUT_RDWR)
	default:
	}
	return nil
}

// wait waits until the guard has ended, and returns the reason.
func (w *watcher) wait() error {
	status := w.guard.wait()
	w.orphans.reaped(w.guard.pid)
	w.mu.Lock()
	defer w.mu.Unlock()
	unix.Close(w.socket)
	w.guard.release()
	w.guard = nil
	if status.Signaled() {
		return fmt.Errorf("killed by %s",
			cmp.Or(unix.SignalName(status.Signal()), status.Signal().String()))
	}
	return fmt.Errorf("exited with %d", status.ExitStatus())
}

// add tells the guard of a group, and returns the key of the group.
func (w *watcher) add(h *handle) uint64 {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	if h.pidfd != nil {
		w.groups[w.last] = h
		w.tell([]uint64{w.last})
	}
	return w.last
}

// forget withdraws a group. Its pidfd must still be open.
func (w *watcher) forget(key uint64) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.groups[key] != nil {
		delete(w.groups, key)
		w.send(guard.Forget(key), nil)
	}
}

// tell sends the pidfds of groups. The mutex is held, so the pidfds are open.
func (w *watcher) tell(keys []uint64) {
	if len(keys) == 0 {
		return
	}
	fds := make([]int, 0, len(keys))
	for _, key := range keys {
		if conn, err := w.groups[key].pidfd.SyscallConn(); err == nil {
			_ = conn.Control(func(fd uintptr) { fds = append(fds, int(fd)) })
		}
	}
	w.send(guard.Watch(keys...), unix.UnixRights(fds...))
}

// send never waits. A guard that does not read is of no use, so it is killed and replaced. The
// mutex is held.
func (w *watcher) send(packet, rights []byte) {
	if w.guard == nil {
		return // the next guard is told of all groups
	}
	err := unix.Sendmsg(w.socket, packet, rights, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	if err != nil && !errors.Is(err, unix.EPIPE) { // EPIPE: it has ended, as wait sees
		_ = w.guard.signal(syscall.SIGKILL)
	}
}

// close ends the guard, which looks once more for remaining processes.
func (w *watcher) close() {
	if w == nil {
		return
	}
	close(w.closing)
	w.mu.Lock()
	if w.guard != nil {
		_ = unix.Shutdown(w.socket, unix.SHUT_RDWR)
	}
	w.mu.Unlock()
	timer := time.AfterFunc(sweepTime, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.guard != nil {
			_ = w.guard.signal(syscall.SIGKILL)
		}
	})
	defer timer.Stop()
	<-w.ended
}
