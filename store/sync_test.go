package store

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// disk fails some syncs, and like the kernel reports each failure once. No later sync of the same
// file writes the reported pages.
type disk struct {
	files, dirs int // number of syncs that are still to fail
	dirty       map[*os.File]bool
	synced      int
}

// broken is an open log with two sessions on such a disk.
func broken(t *testing.T) (*Store, *disk, string) {
	t.Helper()
	dir := t.TempDir()
	s := opened(t, dir)
	t.Cleanup(func() { _ = s.f.Close() })
	d := &disk{dirty: map[*os.File]bool{}}
	s.sync = func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		left := &d.files
		if info.IsDir() {
			left = &d.dirs
		}
		if *left > 0 {
			*left--
			d.dirty[f] = true
			return syscall.EIO
		}
		d.synced++
		return f.Sync()
	}
	if err := s.Apply([]Change{{Sessions, "a", value(1)}, {Sessions, "b", value(2)}}); err != nil {
		t.Fatal(err)
	}
	return s, d, filepath.Join(dir, file)
}

// A failed sync is not repeated. Before Sync reports success the log is another file, at once or
// after the disk has refused that too.
func TestSyncThatFailedIsNotMadeAgain(t *testing.T) {
	for refused := range 4 {
		s, d, path := broken(t)
		d.files = refused
		tries := 1
		for s.Sync() != nil {
			if tries++; tries > 10 {
				t.Fatal("it never succeeds")
			}
			// a change in the meantime is kept as well
			if err := s.Apply([]Change{{Sessions, "c", value(3)}}); err != nil {
				t.Fatal(err)
			}
		}
		if want := max(1, refused); tries != want || d.dirty[s.f] || d.files != 0 {
			t.Errorf("%d refused: after %d tries, want %d; durable: %t", refused, tries, want, !d.dirty[s.f])
		}
		next := opened(t, filepath.Dir(path))
		if got := all(next, Sessions); got["a"] != `"x"` || got["b"] != `"xx"` ||
			tries > 1 && got["c"] != `"xxx"` {
			t.Errorf("%d refused: it has %v", refused, got)
		}
		_ = next.Close()
		if err := s.Apply([]Change{{Sessions, "d", value(4)}}); err != nil ||
			s.Get(Sessions, "d") == nil {
			t.Errorf("%d refused: then %v", refused, err)
		}
		before := d.synced
		if err := s.Sync(); err != nil || d.synced != before+1 {
			t.Errorf("%d refused: %d syncs and %v when all is well", refused, d.synced-before, err)
		}
	}
}

// A log whose name may not be on the disk is rewritten too, whoever renamed it.
func TestNameThatWasNotSynced(t *testing.T) {
	s, d, path := broken(t)
	for _, rename := range []func() error{
		func() error { d.files = 1; return s.Sync() },
		func() error { _ = os.Remove(path); return s.Verify() },
		func() error { s.garbage = 2 * minGarbage; return s.Apply([]Change{{Sessions, "c", value(1)}}) },
	} {
		d.dirs = 1
		_ = rename()
		was, err := os.Stat(path)
		if err != nil || d.dirs != 0 {
			t.Fatal(err, d.dirs)
		}
		if err := s.Sync(); err != nil {
			t.Error(err)
		}
		if now, err := os.Stat(path); err != nil || os.SameFile(was, now) {
			t.Errorf("it is the file that it was, %v", err)
		}
	}
	s.sync = func(f *os.File) error { // a file system that syncs no directories
		if info, err := f.Stat(); err != nil || info.IsDir() {
			return syscall.EINVAL
		}
		return f.Sync()
	}
	_ = os.Remove(path)
	if err := s.Verify(); err != nil || s.syncFailed {
		t.Errorf("%v, doubted: %t", err, s.syncFailed)
	}
}

// Values that could not be written and cannot be read any more are reported once, and the rest is
// kept.
func TestValuesThatAreGoneWithASync(t *testing.T) {
	s, d, _ := broken(t)
	at := s.live[Sessions]["a"]
	// the earlier content of the disk
	if _, err := s.f.WriteAt([]byte("00000000"), at.at); err != nil {
		t.Fatal(err)
	}
	d.files = 1
	if err := s.Sync(); !errors.Is(err, errSum) || !errors.Is(err, syscall.EIO) || d.dirty[s.f] {
		t.Errorf("got %v", err)
	}
	if err := s.Sync(); err != nil || s.Has(Sessions, "a") || s.Get(Sessions, "b") == nil {
		t.Errorf("then %v, %v", err, all(s, Sessions))
	}
}

// Sync of a closed store writes nothing, and above all no empty log.
func TestSyncAfterTheEnd(t *testing.T) {
	s, _, path := broken(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, doubted := range []bool{false, true} {
		s.syncFailed = doubted
		if err := s.Sync(); doubted != (err != nil) {
			t.Errorf("doubted: %t, got %v", doubted, err)
		}
	}
	next := opened(t, filepath.Dir(path))
	defer next.Close()
	if got := all(next, Sessions); len(got) != 2 {
		t.Errorf("it has %v", got)
	}
}
