package guard

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A process with an empty environment is told from one that is about to get its environment.
func TestBlankIsOnlyWhatHasNoEnvironmentYet(t *testing.T) {
	bare := exec.Command("/bin/sleep", "600")
	bare.Env = []string{}
	if err := bare.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bare.Process.Kill()
		_ = bare.Wait()
	})
	zombie := exec.Command("/bin/true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = zombie.Wait() })
	state := "/proc/" + strconv.Itoa(zombie.Process.Pid) + "/stat"
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(state); err != nil || time.Now().After(end) {
			t.Fatalf("it is no zombie: %s, %v", text, err)
		} else if strings.Contains(string(text), ") Z ") {
			break
		}
	}
	for _, c := range []struct {
		name string
		pid  int
		want int
	}{{"bare", bare.Process.Pid, 0}, {"ended", zombie.Process.Pid, 0}, {"ours", os.Getpid(), 0}} {
		look := Look{Mark: func([]byte) bool { return false }}
		look.Signal([]int{c.pid}, 0)
		if look.Blank != c.want {
			t.Errorf("%s: %d are blank, want %d", c.name, look.Blank, c.want)
		}
	}
}
