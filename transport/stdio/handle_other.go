//go:build !linux

package stdio

import (
	"errors"
	"syscall"
	"time"
)

// reapEvery is the interval at which a child's exit is polled: here no system call announces an
// exit without reaping it at the same moment.
const reapEvery = 10 * time.Millisecond

// attributes puts a child into its own process group. There is no parent-death signal on these
// systems.
func attributes(*int, int) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func thread() int { return 0 }

func newHandle(pid, _ int, _ bool) *handle { return &handle{pid: pid} }

func groupSignals() bool { return false }

func (h *handle) sendPidfd(syscall.Signal, bool) error { return syscall.ENOSYS }

// wait blocks until the leader has exited, reaps it, and kills the rest of its group. It polls
// under the lock, so that signal cannot use the number after the kernel has reaped the child and
// before reaped is set.
func (h *handle) wait() syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		h.mu.Lock()
		pid, err := syscall.Wait4(h.pid, &status, syscall.WNOHANG, nil)
		if pid == h.pid || err != nil && !errors.Is(err, syscall.EINTR) {
			h.reaped = true
			_ = syscall.Kill(-h.pid, syscall.SIGKILL)
			h.mu.Unlock()
			return status
		}
		h.mu.Unlock()
		time.Sleep(reapEvery)
	}
}

// limit does nothing: these systems cannot set the limits of another process.
func limit(int, Spec) error { return nil }

// stopped always reports false: it cannot tell on these systems.
func (c *Child) stopped() (uint64, bool) { return 0, false }

// onlyZombies always reports false. It cannot tell on these systems, whose first process reaps
// promptly.
func onlyZombies(int) bool { return false }
