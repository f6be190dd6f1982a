package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"mcpd/transport/stdio/guard"
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

// expendable is how much rather than the host the kernel kills a child when memory runs out, of 1000:
// so that what a child takes ends no host, and its own children before it.
const expendable = 500

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
	preferred(pid)
	return nil
}

// preferred makes a child the one that the kernel kills when memory runs out, unless it is already more
// so. Where /proc cannot be written it is not, which ends no start.
func preferred(pid int) {
	file := fmt.Sprintf("/proc/%d/oom_score_adj", pid)
	if text, err := os.ReadFile(file); err == nil {
		if now, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && now < expendable {
			_ = os.WriteFile(file, strconv.AppendInt(nil, expendable, 10), 0)
		}
	}
}

// onlyZombies reports whether no process of the group runs any more, by reading the state of every process.
func onlyZombies(group int) bool {
	for _, pid := range guard.All() {
		if state, _, of := statusOf(pid); of == group && state != "Z" && state != "X" {
			return false
		}
	}
	return true
}

// statusOf reads the state, the parent and the group of a process. The state is empty when it has ended.
func statusOf(pid int) (state string, parent, group int) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0, 0
	}
	// "pid (name) state parent group …", where the name may hold spaces and parentheses.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 3 {
		return "", 0, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	group, _ = strconv.Atoi(fields[2])
	return fields[0], parent, group
}
