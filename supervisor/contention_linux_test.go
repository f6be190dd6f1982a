package supervisor

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The times that threads ran and waited are summed up, including those of threads that end.
func TestContentionIsSummedUp(t *testing.T) {
	c := &contention{tasks: t.TempDir()}
	set := func(thread, text string) {
		t.Helper()
		dir := filepath.Join(c.tasks, thread)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "schedstat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(ran, waited time.Duration) {
		t.Helper()
		if r, w := c.read(); r != ran || w != waited {
			t.Errorf("ran %d, waited %d, want %d and %d", r, w, ran, waited)
		}
	}
	want(0, 0)
	set("10", "1000 10 3\n")
	set("11", "2000 20 3\n")
	want(3000, 30)
	if err := os.RemoveAll(filepath.Join(c.tasks, "11")); err != nil {
		t.Fatal(err)
	}
	set("10", "1500 15 4\n")
	set("12", "nonsense")
	want(3500, 35)
	set("11", "7 1 1\n") // the number now belongs to another thread
	want(3507, 36)
}

// The kernel of this machine reports the times, if it can.
func TestContentionOfThisProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/task"); err != nil {
		t.Skip(err)
	}
	read := Contention()
	before, _ := read()
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
	}
	after, waited := read()
	if before > 0 && (after <= before || waited < 0) {
		t.Errorf("ran %s, then %s, waited %s", before, after, waited)
	}
}
