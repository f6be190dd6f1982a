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

// attributes puts a child into its own process group, and into a control group if one is given. It
// lets the kernel kill the child when the thread that forks it ends. That is the thread of the
// spawner, which lives as long as any child does (go.dev/issue/27505).
func attributes(pidfd *int, group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setpgid: true, Pdeathsig: syscall.SIGKILL, PidFD: pidfd, UseCgroupFD: group >= 0, CgroupFD: group,
	}
}

// thread returns the id of the current thread.
func thread() int { return unix.Gettid() }

// newHandle takes over the pidfd of a new child, -1 if the kernel gave none. The pidfd is
// non-blocking: the runtime's poller waits on it, and no thread is spent on waiting for a child.
func newHandle(pid, pidfd int, group bool) *handle {
	h := &handle{pid: pid}
	if pidfd >= 0 {
		_ = unix.SetNonblock(pidfd, true) // without it, wait falls back to a blocking thread
		h.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
		h.group = group
	}
	return h
}

// groupSignals reports whether this kernel can signal a process group through a pidfd. Older
// kernels refuse the flag as invalid.
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
	if err := conn.Control(func(fd uintptr) {
		sent = unix.PidfdSendSignal(int(fd), sig, nil, flags)
	}); err != nil {
		return os.ErrProcessDone // release has closed the pidfd: no process is left
	}
	return sent
}

// wait blocks until the leader has exited, and reaps it. If the group cannot be signalled
// afterwards, wait kills the rest of the group in between, while the zombie still keeps the number
// ours.
func (h *handle) wait() syscall.WaitStatus {
	h.block()
	if !h.group {
		_ = syscall.Kill(-h.pid, syscall.SIGKILL) // always succeeds: the zombie is in the group
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

// exited asks for an exit status without taking it. An error other than an interruption counts as
// an exit, because there is nothing to wait for.
func exited(kind, id, options int) bool {
	var info unix.Siginfo
	err := unix.Waitid(kind, id, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
	if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
		return false
	}
	return err != nil || info.Signo != 0
}

// childOOMScore is the oom_score_adj of a child, of 1000. When memory runs out because of a child,
// the kernel kills the child rather than the host, and a child's own children before the child.
const childOOMScore = 500

// limit bounds the resources of a running child. The child may run its first few instructions
// before the limits are set. That is too early for it to have started processes, which would stay
// without limits.
func limit(pid int, spec Spec) error {
	for _, l := range []struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_CORE, 0}, // a core file holds the secrets of the environment
		{unix.RLIMIT_NOFILE, spec.Files},
		{unix.RLIMIT_FSIZE, spec.FileSize},
	} {
		var own unix.Rlimit
		if err := unix.Prlimit(pid, l.resource, nil, &own); err != nil {
			return os.NewSyscallError("prlimit", err)
		}
		own.Max = min(l.value, own.Max) // only root may raise it
		own.Cur = own.Max
		if err := unix.Prlimit(pid, l.resource, &own, nil); err != nil {
			return os.NewSyscallError("prlimit", err)
		}
	}
	setOOMScore(pid)
	return nil
}

// setOOMScore makes a child the one that the kernel kills when memory runs out, unless its score is
// higher already. A failure, as where /proc is read-only, does not fail the start.
func setOOMScore(pid int) {
	file := fmt.Sprintf("/proc/%d/oom_score_adj", pid)
	if text, err := os.ReadFile(file); err == nil {
		if now, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && now < childOOMScore {
			_ = os.WriteFile(file, strconv.AppendInt(nil, childOOMScore, 10), 0)
		}
	}
}

// onlyZombies reports whether no process of the group still runs. It reads the state of every
// process on the system.
func onlyZombies(group int) bool {
	for _, pid := range guard.All() {
		if state, _, of := statusOf(pid); of == group && state != "Z" && state != "X" {
			return false
		}
	}
	return true
}

// statusOf reads the state, the parent and the group of a process. The state is empty when the
// process has ended.
func statusOf(pid int) (state string, parent, group int) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0, 0
	}
	// The format is "pid (name) state parent group …", where the name may hold spaces and
	// parentheses.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 3 {
		return "", 0, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	group, _ = strconv.Atoi(fields[2])
	return fields[0], parent, group
}
