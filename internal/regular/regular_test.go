package regular

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe, a directory and a device are refused at once, also behind a symbolic link and for
// writing.
func TestWhatIsNoRegularFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(pipe, link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, dir, "/dev/null", "/dev/zero", "/dev/tty"} {
		for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREATE | os.O_TRUNC} {
			done := make(chan error, 1)
			// owner: the test, which waits for the result
			go func() {
				_, err := OpenFile(path, flag, 0o600)
				done <- err
			}()
			select {
			case err := <-done:
				if !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), path) {
					t.Errorf("%s with %#x: %v", path, flag, err)
				}
			case <-time.After(10 * time.Second):
				t.Errorf("%s with %#x is waited for", path, flag)
			}
		}
	}
}

func TestRegularFilesAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if _, err := Read(path, 1<<20); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	f, err := OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if data, err := Read(path, 1<<20); err != nil || len(data) != 1<<20 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := f.Write([]byte{1}); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, 1<<20); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("one byte more: %v", err)
	}
}
