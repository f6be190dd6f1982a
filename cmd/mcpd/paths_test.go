package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A deleted lock is taken again. If another host was faster, that is an error until the other
// host has ended.
func TestLockIsTakenAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	lock, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.close()
	for _, path := range []string{dir, filepath.Join(dir, "lock")} {
		if again, err := lock.reacquire(); again || err != nil {
			t.Errorf("held: %t, %v", again, err)
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if again, err := lock.reacquire(); !again || err != nil {
			t.Errorf("deleted: %t, %v", again, err)
		}
		if _, err := lockState(dir); err == nil {
			t.Error("two have it")
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	other, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if again, err := lock.reacquire(); again || err == nil ||
			!strings.Contains(err.Error(), "was deleted: another mcpd uses "+dir) {
			t.Errorf("another has it: %t, %v", again, err)
		}
	}
	other.close()
	if again, err := lock.reacquire(); !again || err != nil {
		t.Errorf("the other has ended: %t, %v", again, err)
	}
}

// The inode number of a deleted lock is not reused while its host runs, because the host's child
// processes are marked with it.
func TestNameOfADeletedLockIsNobodyElses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	lock, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.close()
	name, err := lock.name()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if again, err := lock.reacquire(); !again || err != nil {
			t.Fatalf("deleted: %t, %v", again, err)
		}
		for range 50 {
			other, err := lockState(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer other.close()
			if got, err := other.name(); err != nil || got == name {
				t.Fatalf("another daemon has the name %s, %v", got, err)
			}
		}
		if got, err := lock.name(); err != nil || got != name {
			t.Errorf("it has the name %s, %v, and had %s", got, err, name)
		}
	}
}

// A host that was killed in the middle of a fork leaves its lock to the child for some moments.
func TestLockThatIsAboutToBeLeftIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	lock, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	left := time.AfterFunc(50*time.Millisecond, lock.close)
	defer left.Stop()
	next, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	next.close()
}
