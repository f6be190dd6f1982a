package faults

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// program runs a script in place of a host, and waits for it when the test ends.
func program(t *testing.T, script string) int {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // wait until it has begun
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() { // ends with the process; the test waits for it
		defer close(over)
		_ = cmd.Wait() // a signal ended it
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-over
	})
	return cmd.Process.Pid
}

// A host is ended with the signal of its kind. At the end it is started again, exactly once, and
// the time that took is reported.
func TestHostsAreEndedAndStartedAgain(t *testing.T) {
	t.Parallel()
	for _, k := range []Kind{hostKill, hostTerm} {
		pid := program(t, "echo; exec sleep 60")
		s := site(k, &operator{}, nil)
		s.PID = pid
		starts, ran := 0, false
		s.Start = func(context.Context) error {
			starts++
			ran = processOf(pid).runs()
			return nil
		}
		in, err := k.Inject(t.Context(), s)
		if err != nil {
			t.Fatal(k.Name, err)
		}
		for range 2 {
			if err := in.Heal(t.Context()); err != nil {
				t.Error(k.Name, err)
			}
		}
		if starts != 1 || ran {
			t.Errorf("%s: started %d times, and the last host still ran: %v", k.Name, starts, ran)
		}
		for _, figure := range []string{"end_ms", "orphans_ms", "ready_ms"} {
			if n := len(in.Figures()[figure]); n != 1 {
				t.Errorf("%s: %d samples of %s", k.Name, n, figure)
			}
		}
	}
}

// A process that outlives the host for too long is an error, and the host is started all the same.
func TestOrphansAreTold(t *testing.T) {
	t.Parallel()
	s := site(hostKill, &operator{}, nil)
	s.PID = program(t, "sleep 5 & echo; wait")
	started := false
	s.Start = func(context.Context) error {
		started = true
		return nil
	}
	in, err := hostKill.Inject(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Heal(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "1 processes of the host still ran") || !started {
		t.Errorf("%v, started %v", err, started)
	}
}

func TestHostsThatAreNotOursAreLeftAlone(t *testing.T) {
	t.Parallel()
	for _, k := range []Kind{hostKill, hostTerm, hostCrash, stateDamage} {
		s := site(k, &operator{}, nil)
		s.PID = program(t, "exec 9>"+filepath.Join(t.TempDir(), "state.log")+"; echo; exec sleep 60")
		if _, err := k.Inject(t.Context(), s); !errors.Is(err, ErrNotOurs) || !processOf(s.PID).runs() {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
}

// A host crashes the requested number of times. Then it is stopped and started once more.
func TestHostsCrashAgainAndAgain(t *testing.T) {
	t.Parallel()
	s := site(hostCrash, &operator{}, Values{"times": 2})
	s.PID = program(t, "echo; exec sleep 60")
	var pids []int // read when the loop is over
	s.Launch = func(context.Context) (int, error) {
		pids = append(pids, program(t, "echo; exec sleep 60"))
		return pids[len(pids)-1], nil
	}
	var ran bool
	s.Start = func(context.Context) error {
		ran = processOf(pids[len(pids)-1]).runs()
		return nil
	}
	in, err := hostCrash.Inject(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	if n, _ := in.Hits(t.Context()); n != 2 || len(pids) != 2 || ran {
		t.Errorf("%d crashes, %d hosts after the first, and the last still ran: %v", n, len(pids), ran)
	}
}

// The file that the host has open is damaged after that host is gone and before the next one
// starts.
func TestStateIsDamagedBetweenTwoHosts(t *testing.T) {
	t.Parallel()
	const log = "header\none\ntwo\nthree\n"
	for how, want := range map[string]string{
		"torn":    log + "thr",
		"garbage": "header\none\n" + strings.Repeat("\xff\x00", 1000) + "\ntwo\nthree\n",
		"version": "1c8e4a5f {\"mcpd_state\":\"9999\"}\none\ntwo\nthree\n",
	} {
		file := filepath.Join(t.TempDir(), "state.log")
		if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		s := site(stateDamage, &operator{}, Values{"how": how})
		s.PID = program(t, "exec 9<>"+file+"; echo; exec sleep 60")
		var found []byte
		s.Start = func(context.Context) (err error) {
			found, err = os.ReadFile(file)
			return err
		}
		in, err := stateDamage.Inject(t.Context(), s)
		if err != nil {
			t.Fatal(how, err)
		}
		if now, err := os.ReadFile(file); err != nil || string(now) != log {
			t.Errorf("%s: before the end it is %q, %v", how, now, err)
		}
		if err := in.Heal(t.Context()); err != nil {
			t.Error(how, err)
		}
		if how == "version" {
			if _, rest, ok := bytes.Cut(found, []byte(" ")); !ok || string(rest) != want[9:] {
				t.Errorf("%s: %q", how, found)
			}
		} else if string(found) != want {
			t.Errorf("%s: %q, want %q", how, found, want)
		}
	}
}

// A process may open as many more descriptors as there are free numbers below the limit. At the end
// it has its old limit.
func TestDescriptorsAreFew(t *testing.T) {
	t.Parallel()
	s := site(hostDescriptors, &operator{}, Values{"free": 2})
	s.PID = program(t, "exec 5</dev/null; echo; exec sleep 60")
	before, _ := os.ReadFile(limits(s.PID))
	in, err := hostDescriptors.Inject(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	used, err := descriptors(s.PID)
	if now, _ := os.ReadFile(limits(s.PID)); err != nil || bytes.Equal(now, before) ||
		!strings.Contains(in.Target, "limit of") {
		t.Errorf("%v used, %v, at %s\n%s", used, err, in.Target, now)
	}
	if err := in.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	soft, hard := "", ""
	after, _ := os.ReadFile(limits(s.PID))
	for line := range strings.Lines(string(after)) {
		if words := strings.Fields(line); strings.HasPrefix(line, "Max open files") {
			soft, hard = words[3], words[4]
		}
	}
	if soft != hard || soft == "" {
		t.Errorf("at the end %s of %s", soft, hard)
	}
	if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func limits(pid int) string { return "/proc/" + strconv.Itoa(pid) + "/limits" }

func TestRoomForDescriptors(t *testing.T) {
	for _, c := range []struct {
		used       []int
		free, want int
	}{
		{nil, 3, 3}, {[]int{0, 1, 2}, 0, 3}, {[]int{0, 1, 2}, 5, 8}, {[]int{0, 1, 5, 6}, 2, 4},
		{[]int{0, 1, 5, 6}, 3, 5}, {[]int{0, 1, 5, 6}, 4, 8}, {[]int{4}, 4, 4}, {[]int{0, 1, 5}, 0, 2},
	} {
		if got := limitFor(c.used, c.free); got != c.want {
			t.Errorf("%d more beside %v: %d, want %d", c.free, c.used, got, c.want)
		}
	}
}
