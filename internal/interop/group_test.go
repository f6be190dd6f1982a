//go:build unix

package interop

import (
	"os/exec"
	"syscall"
)

// group makes a command the leader of a process group, because npx starts the server as a child
// process.
func group(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends such a command and the processes that it has started. The goroutine that waits for
// the command closes ended.
func killGroup(c *exec.Cmd, ended <-chan struct{}) {
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // it may have exited by itself
	<-ended
}
