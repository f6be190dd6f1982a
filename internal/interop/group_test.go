//go:build unix

package interop

import (
	"os/exec"
	"syscall"
)

// group makes a command the head of a process group, because npx is not the server but starts it.
func group(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends such a command and what it has started. Whoever waits for the command closes ended.
func killGroup(c *exec.Cmd, ended <-chan struct{}) {
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // it may have ended by itself
	<-ended
}
