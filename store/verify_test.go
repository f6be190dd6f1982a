package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lost is an open log with two sessions, in a directory that its owner recreates.
func lost(t *testing.T) (s *Store, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state")
	own := func() error { return os.MkdirAll(dir, 0o700) }
	if err := own(); err != nil {
		t.Fatal(err)
	}
	s, damage, err := Open(dir, own)
	if err != nil || damage != nil {
		t.Fatal(err, damage)
	}
	t.Cleanup(func() { _ = s.f.Close() })
	if err := s.Apply([]Change{{Sessions, "a", value(1)}, {Sessions, "b", value(2)}}); err != nil {
		t.Fatal(err)
	}
	return s, dir
}

// A log that was deleted, alone or with its directory, is restored with all its values: before the
// next change is reported as written, or by Verify. The log is not closed in between: a host may be
// killed.
func TestDeletedLogIsWrittenAnew(t *testing.T) {
	for name, remove := range map[string]func(dir string) error{
		"directory": os.RemoveAll,
		"log":       func(dir string) error { return os.Remove(filepath.Join(dir, file)) },
		"moved":     func(dir string) error { return os.Rename(dir, dir+".away") },
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := lost(t)
			if err := remove(dir); err != nil {
				t.Fatal(err)
			}
			if err := s.Apply([]Change{{Sessions, "b", nil}, {Sessions, "c", value(3)}}); err != nil {
				t.Fatal(err)
			}
			next := opened(t, dir)
			if got := all(next, Sessions); len(got) != 2 || got["a"] != `"x"` || got["c"] != `"xxx"` {
				t.Errorf("after a change: %v", got)
			}
			_ = next.Close()

			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := s.Verify(); err != nil {
				t.Fatal(err)
			}
			next = opened(t, dir)
			defer next.Close()
			if got := all(next, Sessions); len(got) != 2 {
				t.Errorf("after a look: %v", got)
			}
		})
	}
}

// A foreign file in the place of the log stays as it is, and causes an error that names it, until
// it is gone.
func TestForeignLogIsNotOverwritten(t *testing.T) {
	s, dir := lost(t)
	path := filepath.Join(dir, file)
	if err := os.WriteFile(path+".theirs", []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".theirs", path); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{s.Verify(), s.Apply([]Change{{Sessions, "c", value(3)}}),
		s.rewrite()} {
		if err == nil || !strings.Contains(err.Error(), path+" was replaced by another file") {
			t.Errorf("got %v", err)
		}
	}
	if got, err := os.ReadFile(path); string(got) != "theirs" {
		t.Fatalf("it is %q now, %v", got, err)
	}
	if err := os.Rename(path, path+".theirs"); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(); err != nil {
		t.Fatal(err)
	}
	next := opened(t, dir)
	defer next.Close()
	if got := all(next, Sessions); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

// A deleted log that cannot be rewritten stays an error, both when own refuses the directory and
// when the directory is missing.
func TestLogThatCannotBeWrittenAnew(t *testing.T) {
	s, dir := lost(t)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	own := s.checkOwner
	used := errors.New("another mcpd uses it")
	for _, refuse := range []error{used, nil} {
		s.checkOwner = func() error { return refuse }
		for range 2 {
			if err := s.Apply([]Change{{Sessions, "c", value(3)}}); err == nil ||
				refuse != nil && !errors.Is(err, used) {
				t.Errorf("got %v", err)
			}
		}
	}
	s.checkOwner = own
	if err := s.Apply([]Change{{Sessions, "c", value(3)}}); err != nil {
		t.Error(err)
	}
	if got := all(s, Sessions); len(got) != 3 {
		t.Errorf("got %v", got)
	}
}
