//go:build unix

package interop

import (
	"os/exec"
	"syscall"
)

// group makes a command the head of a process group, because npx is not the server but starts it.
func group(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends such a command and what it has started.
func killGroup(c *exec.Cmd) {
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // it may have ended by itself
	_ = c.Wait()
}
