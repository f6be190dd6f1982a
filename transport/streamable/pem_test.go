package streamable

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/regular"
)

// A certificate or key that is a pipe or a device is refused without waiting for it.
func TestCertificateThatIsNoRegularFileIsRefused(t *testing.T) {
	cert, key, _ := certificate(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, MaxPEM+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cert, key, want string
	}{
		{pipe, key, regular.ErrNotRegular.Error()},
		{cert, pipe, regular.ErrNotRegular.Error()},
		{"/dev/zero", key, regular.ErrNotRegular.Error()},
		{cert, "/dev/zero", regular.ErrNotRegular.Error()},
		{large, key, "larger than 1 MiB"},
		{cert, large, "larger than 1 MiB"},
		{cert, key, ""},
	} {
		done := make(chan error, 1)
		go func() { // owner: the test, which waits for the result
			_, err := LoadCertificate(c.cert, c.key)
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil {
				err = errors.New("")
			}
			if !strings.Contains(err.Error(), c.want) || c.want == "" && err.Error() != "" {
				t.Errorf("%+v: %v", c, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%+v is waited for", c)
		}
	}
}
