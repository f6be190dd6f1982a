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

// inUseTime bounds the look for a process that listens on a socket which is there already.
const inUseTime = time.Second

// listenUnix listens on a Unix socket. One that an earlier process has left is removed; one on
// which somebody listens, or a file of another kind, is left alone.
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
	// Until it has its owner and its mode nobody else may connect: on Linux a socket's file gets the
	// mode that the socket has when it is bound. Elsewhere the umask alone decides.
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

// removeStale removes a socket on which nobody listens.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("a file is there that is no socket: remove it, or name another path")
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

// owner is the user and the group that a text names, -1 for one that stays.
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

// id is a number as it is written, or that of a name.
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

// lockTries bounds how often the lock of a socket's directory is tried for, lockPause apart, while
// another process has it.
const (
	lockTries = 250
	lockPause = 20 * time.Millisecond
)

// lock waits for a lock that any process may have that reads the directory.
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
