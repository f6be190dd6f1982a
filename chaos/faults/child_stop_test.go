package faults

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"
)

// A launcher may relay the messages between its client and its server, or may not be involved at
// all. The fault must stop the server and not only the launcher.
func TestServersOfLaunchersAreStopped(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 60 & echo $!; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as the host starts its servers
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	var server int
	if _, err := fmt.Fscan(out, &server); err != nil {
		t.Fatal(err)
	}
	in, err := childStop.Inject(t.Context(), atDemo(childStop, withChild(cmd.Process.Pid), nil))
	if err != nil {
		t.Fatal(err)
	}
	state(t, cmd.Process.Pid, 'T')
	state(t, server, 'T')
	if err := in.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	state(t, cmd.Process.Pid, 'S')
	state(t, server, 'S')
}
