package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sleeper starts a process with this entry in its environment. The end of the test kills it.
func sleeper(t *testing.T, entry string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{"A=1", entry, "PATH=" + os.Getenv("PATH")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error means that it has ended
		_ = cmd.Wait()
	})
	// Inside exec it has no environment.
	environ := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/environ"
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if text, err := os.ReadFile(environ); err != nil || len(text) > 0 {
			return cmd
		}
	}
	t.Fatal("it has no environment")
	return nil
}

// died ends a process unless it has ended, and reports whether it had.
func died(cmd *exec.Cmd) bool {
	err := cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait() // returns how it ended, which ProcessState keeps
	return err != nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

func TestEndKillsWhatIsMarkedAndNothingElse(t *testing.T) {
	name := fmt.Sprintf("GUARD_TEST=%d", os.Getpid())
	var ours, others []*exec.Cmd
	for i := range 5 {
		ours = append(ours, sleeper(t, fmt.Sprintf("%s/%d", name, i)))
		others = append(others, sleeper(t, fmt.Sprintf("%s-%d", name, i)), sleeper(t, "X"+name+"/1"))
	}
	// Its environment is larger than what is read at once.
	ours = append(ours, sleeper(t, name+"/"+strings.Repeat("x", 100<<10)))
	if err := ours[0].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	look := Look{Mark: Prefix(name + "/")}
	if ended, remaining := look.End(1, 20*time.Second); ended != len(ours) || remaining != 0 {
		t.Errorf("got %d ended and %d left, want %d and none", ended, remaining, len(ours))
	}
	for i, cmd := range ours {
		if !died(cmd) {
			t.Errorf("marked process %d lives", i)
		}
	}
	for _, cmd := range others {
		if died(cmd) {
			t.Errorf("a process with %q in its environment was killed", cmd.Env[1])
		}
	}
}

// A process may end at any time, and its number may pass on. Here it does so while the process is
// checked, before its pidfd is opened or after: the test makes the kernel give the number to
// another process.
func TestASignalNeverReachesWhoeverGotTheNumber(t *testing.T) {
	name := fmt.Sprintf("GUARD_TEST=%d", os.Getpid())
	for _, at := range []struct {
		name string
		look int
	}{{"at the first look", 1}, {"at the second", 2}, {"never", 0}} {
		t.Run(at.name, func(t *testing.T) {
			for range 10 {
				ours := sleeper(t, name+"/1")
				pid := ours.Process.Pid
				var other *exec.Cmd
				looks := 0
				look := Look{Mark: func(entry []byte) bool {
					if !bytes.HasPrefix(entry, []byte(name+"/")) {
						return false
					}
					if looks++; looks == at.look {
						_ = ours.Process.Kill() // a failure shows below: the number would not be free
						_ = ours.Wait()
						other = numbered(t, pid, name)
					}
					return true
				}}
				found := look.Signal([]int{pid}, syscall.SIGKILL)
				if want := at.look == 0; (len(found) > 0) != want || want && !died(ours) {
					t.Fatalf("got %v signalled, %d looks", found, looks)
				}
				if other != nil && died(other) {
					t.Fatal("the process that got the number was killed")
				}
			}
		})
	}
}

// numbered starts an unmarked process with this process id.
func numbered(t *testing.T, pid int, entry string) *exec.Cmd {
	t.Helper()
	// other programs start processes, too
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)),
			0); err != nil {
			t.Skipf("numbers can be chosen by root only: %v", err)
		}
		if cmd := sleeper(t, entry); cmd.Process.Pid == pid {
			return cmd
		}
	}
	t.Skip("others got the number")
	return nil
}

// started runs this test program as a guard, and returns our end of its socket.
func started(t *testing.T, mark string) (sock int, cmd *exec.Cmd) {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	defer theirs.Close()
	cmd = exec.Command("/proc/self/exe")
	cmd.Env, cmd.ExtraFiles = []string{Variable + "=" + mark}, []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // an error means that it has ended
	return pair[0], cmd
}

func TestGuardEndsGroupsThatItWasToldOf(t *testing.T) {
	sock, guard := started(t, fmt.Sprintf("GUARD_TEST=%d/", os.Getpid()))
	var groups []*exec.Cmd
	for key := range 4 {
		cmd := exec.Command("sh", "-c", "sleep 600 & echo $!; wait")
		pidfd := -1
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // no mark
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, PidFD: &pidfd}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// most of them have ended already
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
		if _, err := io.ReadFull(out, make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Sendmsg(sock, Watch(uint64(key)), syscall.UnixRights(pidfd), nil,
			0); err != nil {
			t.Fatal(err)
		}
		syscall.Close(pidfd)
		groups = append(groups, cmd)
	}
	if err := syscall.Sendmsg(sock, Forget(1), nil, nil, 0); err != nil {
		t.Fatal(err)
	}
	syscall.Close(sock)
	if err := guard.Wait(); err != nil {
		t.Errorf("guard: %v", err)
	}
	for key, cmd := range groups {
		if key != 1 {
			_ = cmd.Wait() // returns the signal, checked next
		}
		alone := key != 1 && cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL
		if alone || alive(cmd.Process.Pid) != (key == 1) {
			t.Errorf("group %d: alive %v, want %v", key, alive(cmd.Process.Pid), key == 1)
		}
	}
}

// alive reports whether a process of the group runs.
func alive(group int) bool {
	for _, pid := range All() {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue // it has ended meanwhile
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if fields[2] == strconv.Itoa(group) && fields[0] != "Z" && fields[0] != "X" {
			return true
		}
	}
	return false
}

func TestVariableAloneMakesNoGuard(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	cmd.Env = []string{Variable + "=GUARD_TEST=1/"}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) || !bytes.Contains(out, []byte("PASS")) {
		t.Errorf("got %q, %v: want the program itself", out, err)
	}
}
