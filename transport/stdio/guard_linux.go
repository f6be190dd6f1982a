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

// watcher keeps a guard process beside this one: when this one ends, however that is, the guard sees its end of the socket close and ends
// all that is left of our children. A guard that ends before is started again. A nil watcher does nothing.
type watcher struct {
	mark    string // of our children, as an entry of their environment
	orphans *orphans
	report  func(Remark)
	closing chan struct{}
	ended   chan struct{}

	mu     sync.Mutex // guards what follows
	guard  *handle    // nil while there is none
	socket int        // ours; the guard's end is its own
	last   uint64
	groups map[uint64]*handle
}

// watch starts the guard and returns when it is there, or could not be started.
func watch(instance string, o *orphans, report func(Remark)) *watcher {
	w := &watcher{
		mark: InstanceVariable + "=" + instance + "/", orphans: o, report: report, groups: map[uint64]*handle{},
		closing: make(chan struct{}), ended: make(chan struct{}),
	}
	err := w.start()
	go w.run(err) // owner: close waits for it
	return w
}

// run waits for the guard to end, and starts the next one. What keeps ending it is given a growing pause.
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

// start starts a guard and tells it of every group there is. The mark covers what is started meanwhile.
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
		Sys:   &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}, // what ends our group or our terminal does not end it
	}
	var pid int
	w.orphans.fork("", func() int {
		pid, _, err = syscall.StartProcess("/proc/self/exe", []string{fmt.Sprintf("mcpd: guard of %d", os.Getpid())}, attr)
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

// wait returns when the guard has ended, and why.
func (w *watcher) wait() error {
	status := w.guard.wait()
	w.orphans.reaped(w.guard.pid)
	w.mu.Lock()
	defer w.mu.Unlock()
	unix.Close(w.socket)
	w.guard.release()
	w.guard = nil
	if status.Signaled() {
		return fmt.Errorf("killed by %s", cmp.Or(unix.SignalName(status.Signal()), status.Signal().String()))
	}
	return fmt.Errorf("exited with %d", status.ExitStatus())
}

// add tells the guard of a group, and returns its key.
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

// forget takes a group back. Its pidfd must still be open.
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

// tell sends the pidfds of groups. The mutex is held, and so they are open.
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

// send never waits: a guard that does not read is of no use, and is replaced. The mutex is held.
func (w *watcher) send(packet, rights []byte) {
	if w.guard == nil {
		return // the next one is told of all
	}
	err := unix.Sendmsg(w.socket, packet, rights, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	if err != nil && !errors.Is(err, unix.EPIPE) { // with EPIPE it has ended, and wait sees that
		_ = w.guard.signal(syscall.SIGKILL)
	}
}

// close lets the guard go. It looks once more for what is left.
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
