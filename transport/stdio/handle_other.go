//go:build !linux

package stdio

import (
	"errors"
	"syscall"
	"time"
)

// reapEvery is how often a child is looked at where nothing announces its exit without reaping it at the same moment.
const reapEvery = 10 * time.Millisecond

// attributes puts a child into its own process group. There is no parent-death signal here.
func attributes(*int, int) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func thread() int { return 0 }

func newHandle(pid, _ int, _ bool) *handle { return &handle{pid: pid} }

func groupSignals() bool { return false }

func (h *handle) sendPidfd(syscall.Signal, bool) error { return syscall.ENOSYS }

// wait blocks until the leader has exited, reaps it, and kills what is left of its group. Asking under the lock keeps signal from using
// the number between the kernel's reaping and ours knowing of it.
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

// limit does nothing: the limits of another process cannot be set here.
func limit(int, Spec) error { return nil }

// stopped cannot tell here.
func (c *Child) stopped() (uint64, bool) { return 0, false }

// onlyZombies cannot tell here; the first process reaps promptly on these systems.
func onlyZombies(int) bool { return false }
