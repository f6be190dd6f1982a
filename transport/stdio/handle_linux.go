package stdio

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes puts a child into its own process group, and into a control group if one is given, and lets the kernel kill it when the thread that forks it ends. That thread is the
// spawner's, which lives as long as any child does (go.dev/issue/27505).
func attributes(pidfd *int, group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, PidFD: pidfd, UseCgroupFD: group >= 0, CgroupFD: group}
}

// thread is the number of the thread that runs this.
func thread() int { return unix.Gettid() }

// newHandle takes over the pidfd of a new child, -1 if the kernel gave none. Non-blocking, the runtime's poller waits on it and no
// thread is spent on waiting for a child.
func newHandle(pid, pidfd int, group bool) *handle {
	h := &handle{pid: pid}
	if pidfd >= 0 {
		_ = unix.SetNonblock(pidfd, true) // without it, wait falls back to a blocking thread
		h.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
		h.group = group
	}
	return h
}

// groupSignals reports whether this kernel can signal a process group through a pidfd. Older ones refuse the flag as invalid.
func groupSignals() bool {
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(self)
	return !errors.Is(unix.PidfdSendSignal(self, 0, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP), unix.EINVAL)
}

func (h *handle) sendPidfd(sig syscall.Signal, group bool) error {
	flags := 0
	if group {
		flags = unix.PIDFD_SIGNAL_PROCESS_GROUP
	}
	conn, err := h.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	if err := conn.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), sig, nil, flags) }); err != nil {
		return os.ErrProcessDone // the pidfd is closed, which release does when nothing is left
	}
	return sent
}

// wait blocks until the leader has exited, and reaps it. Where the group cannot be signalled afterwards, what is left of it is killed in
// between, while the zombie still keeps the number ours.
func (h *handle) wait() syscall.WaitStatus {
	h.block()
	if !h.group {
		_ = syscall.Kill(-h.pid, syscall.SIGKILL) // the zombie is part of the group, so this finds at least one process
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reaped = true
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(h.pid, &status, 0, nil); !errors.Is(err, syscall.EINTR) {
			return status
		}
	}
}

// block returns when the leader is a zombie.
func (h *handle) block() {
	if h.pidfd != nil {
		if conn, err := h.pidfd.SyscallConn(); err == nil {
			err = conn.Read(func(fd uintptr) bool { return exited(unix.P_PIDFD, int(fd), unix.WNOHANG) })
			if err == nil {
				return
			}
		}
	}
	for !exited(unix.P_PID, h.pid, 0) {
	}
}

// exited asks for an exit status without taking it. An error other than an interruption counts as an exit: there is nothing to wait for.
func exited(kind, id, options int) bool {
	var info unix.Siginfo
	err := unix.Waitid(kind, id, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
	if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
		return false
	}
	return err != nil || info.Signo != 0
}

// limit bounds what a running child may use. It forks nothing before its first instruction is run, so the first few may run unbounded.
func limit(pid int, spec Spec) error {
	for _, l := range []struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_CORE, 0}, // a core file holds the secrets of its environment
		{unix.RLIMIT_NOFILE, spec.Files},
		{unix.RLIMIT_FSIZE, spec.FileSize},
	} {
		var own unix.Rlimit
		if err := unix.Prlimit(pid, l.resource, nil, &own); err != nil {
			return os.NewSyscallError("prlimit", err)
		}
		own.Max = min(l.value, own.Max) // nobody can raise it but root
		own.Cur = own.Max
		if err := unix.Prlimit(pid, l.resource, &own, nil); err != nil {
			return os.NewSyscallError("prlimit", err)
		}
	}
	return nil
}

// stopped reports whether a signal has stopped the program, and nothing of its group goes on. One that is traced is somebody's work. A
// launcher that is stopped may have left the serving to what it started; one that waits for a server which is stopped looks like any that
// waits, and is not found here. Every process there is is looked at only when the program itself is stopped.
func (h *handle) stopped() bool {
	h.mu.Lock()
	state, _ := stateOf(strconv.Itoa(h.pid))
	own := !h.reaped && state == "T"
	h.mu.Unlock()
	return own && onlyIn(h.pid, "T", "Z", "X")
}

// onlyZombies reports whether no process of the group runs any more.
func onlyZombies(group int) bool { return onlyIn(group, "Z", "X") }

// onlyIn reports whether every process of the group is in one of the states, by reading that of every process.
func onlyIn(group int, states ...string) bool {
	dir, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false
	}
	want := strconv.Itoa(group)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if state, of := stateOf(name); of == want && !slices.Contains(states, state) {
			return false
		}
	}
	return true
}

// stateOf reads the state and the group of a process, which are empty when it has ended.
func stateOf(pid string) (state, group string) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return "", ""
	}
	// "pid (name) state parent group …", where the name may hold spaces and parentheses.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 3 {
		return "", ""
	}
	return fields[0], fields[2]
}
