package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mcpd/gateway/config"
)

// inUseTime bounds the check for a process that listens on an existing socket.
const inUseTime = time.Second

// listenUnix listens on a Unix socket. It removes a socket that an earlier process has left. It
// leaves alone a socket on which a process listens, and a file of another kind.
func listenUnix(path string, who config.Unix) (net.Listener, error) {
	mode, err := strconv.ParseUint(who.Mode, 8, 16)
	if err != nil {
		return nil, err
	}
	uid, gid, err := owner(who.Owner)
	if err != nil {
		return nil, err
	}
	// Two hosts that start at the same time must not remove each other's new socket.
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := lock(dir); err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir.Name(), err)
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	// Until the socket has its owner and its mode, nobody else may connect. On Linux the file of a
	// socket gets the mode that the socket has when it is bound. On other systems the umask alone
	// decides.
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
	}}
	l, err := private.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	if who.Owner != "" {
		err = os.Lchown(path, uid, gid)
	}
	if err == nil {
		err = os.Chmod(path, fs.FileMode(mode))
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// removeStale removes a socket on which no process listens.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("the path is a file that is not a socket: remove it, or name another path")
	}
	conn, err := net.DialTimeout("unix", path, inUseTime)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("another process listens there: %w", syscall.EADDRINUSE)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("another process may listen there: %w", err)
	}
	return os.Remove(path)
}

// owner returns the user and the group that a text names, -1 for one that does not change.
func owner(text string) (uid, gid int, err error) {
	name, group, _ := strings.Cut(text, ":")
	if uid, err = id(name, func() (string, error) {
		u, err := user.Lookup(name)
		if err != nil {
			return "", err
		}
		return u.Uid, nil
	}); err != nil {
		return 0, 0, err
	}
	gid, err = id(group, func() (string, error) {
		g, err := user.LookupGroup(group)
		if err != nil {
			return "", err
		}
		return g.Gid, nil
	})
	return uid, gid, err
}

// id returns text as a number, or the number of the name, -1 if text is empty.
func id(text string, look func() (string, error)) (int, error) {
	if text == "" {
		return -1, nil
	}
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return int(n), nil
	}
	number, err := look()
	if err != nil {
		return 0, fmt.Errorf("unix.owner: %w", err)
	}
	return strconv.Atoi(number)
}

// lockTries is how often the lock of a socket's directory is tried, lockPause apart, while another
// process has it.
const (
	lockTries = 250
	lockPause = 20 * time.Millisecond
)

// lock waits for a lock on the directory, which any process that can read the directory may hold.
func lock(dir *os.File) (err error) {
	for range lockTries {
		err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		pause(lockPause)
	}
	return err
}
