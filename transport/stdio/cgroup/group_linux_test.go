package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The kernel starts a program in the group, and Kill ends all its processes, also those that have
// left the process group and cleared their environment.
func TestKillReachesWhoeverIsInTheGroup(t *testing.T) {
	var dir string
	for _, base := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(filepath.Join(base, "cgroup.controllers")); err == nil {
			dir = filepath.Join(base, fmt.Sprintf("mcpd-test-%d", os.Getpid()))
		}
	}
	if dir == "" {
		t.Skip("no control groups of version 2 are mounted")
	}
	if err := makeDir(dir); err != nil {
		t.Skipf("no control group of our own: %v", err)
	}
	g := &Group{tree: &Tree{unified: true}, dirs: map[string]string{memory: dir}}
	defer g.Remove(time.Second)
	if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err != nil {
		t.Skip("this kernel kills no groups")
	}
	var err error
	if g.dir, err = os.Open(dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "env -i setsid sleep 600 & exec sleep 600")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); len(processes(dir)) !=
		2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in the group are %v, want two", processes(dir))
		}
	}
	if g.Remove(0) {
		t.Error("a group with processes was removed")
	}
	g.Kill()
	_ = cmd.Wait() // returns how it ended, which ProcessState keeps
	if got := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != syscall.SIGKILL {
		t.Errorf("it ended by %v", got)
	}
	if !g.Remove(10 * time.Second) {
		t.Errorf("in the group are still %v", processes(dir))
	}
}
