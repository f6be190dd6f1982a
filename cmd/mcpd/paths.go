package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"mcpd/internal/regular"
)

// stateDir returns the directory of persistent state: the configured one, else the one of
// systemd, else the XDG one, else the default of root. The path is always absolute, so no state
// lands in the working directory.
func stateDir(configured string, getenv func(string) (string, bool), isRoot bool) (string, error) {
	if configured != "" {
		return configured, nil // The configuration has checked it.
	}
	if dir, _ := getenv("STATE_DIRECTORY"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if dir, _ := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcpd"), nil
	}
	if isRoot {
		return "/var/lib/mcpd", nil
	}
	if home, _ := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "mcpd"), nil
	}
	return "", errors.New("there is no state directory: $HOME is not an absolute path; set it, or " +
		"name a directory with --state-dir")
}

// runtimeDir returns the directory of the admin tokens while the host runs.
func runtimeDir(getenv func(string) (string, bool), isRoot bool) string {
	if dir, _ := getenv("RUNTIME_DIRECTORY"); filepath.IsAbs(dir) {
		return dir
	}
	if dir, _ := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcpd")
	}
	if isRoot {
		return "/run/mcpd"
	}
	temp, _ := getenv("TMPDIR")
	if !filepath.IsAbs(temp) {
		temp = "/tmp"
	}
	return filepath.Join(temp, "mcpd-"+strconv.Itoa(os.Getuid()))
}

// trustedRuntimeDir returns runtimeDir, or an error if another user can change its contents.
func trustedRuntimeDir() (string, error) {
	dir := runtimeDir(os.LookupEnv, os.Geteuid() == 0)
	if err := currentIdentity().checkPath(dir, "it holds the tokens of the host"); err != nil {
		return "", fmt.Errorf("runtime directory: %w", err)
	}
	return dir, nil
}

// stateLock holds the state directory for this host until it is closed. Two hosts on one state
// would overwrite each other's changes.
type stateLock struct {
	dir string
	f   *os.File
	// first is the lock file that gives the name. While it is open, its inode number is not reused,
	// even if the file was deleted.
	first *os.File
}

// A host that is killed while it starts a server leaves the lock to the forked process for a few
// moments, until that process executes the server.
const (
	lockTimeout = 500 * time.Millisecond
	lockPause   = 5 * time.Millisecond
)

func lockState(dir string) (*stateLock, error) {
	if err := makeState(dir); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	path := filepath.Join(dir, "lock")
	f, err := regular.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	for end := time.Now().Add(lockTimeout); errors.Is(err, syscall.EWOULDBLOCK) &&
		time.Now().Before(end); {
		time.Sleep(lockPause)
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf(
				"another mcpd uses %s: stop it, or name another directory with --state-dir", dir,
			)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &stateLock{dir, f, f}, nil
}

// makeState creates the state directory if it does not exist. It refuses a directory that other
// users could change.
func makeState(dir string) error {
	const why = "the next host restores its state from it"
	w := currentIdentity()
	if err := w.checkPath(dir, why); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return errors.Join(w.checkPath(dir, why), w.checkDirectory(dir, why))
}

// name returns a name for the lock that no other living host on this machine has.
func (l *stateLock) name() (string, error) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(l.first.Fd()), &stat); err != nil {
		return "", fmt.Errorf("lock %s: %w", l.first.Name(), err)
	}
	return fmt.Sprintf("%x-%x", stat.Dev, stat.Ino), nil
}

// reacquire takes the lock again if its file was deleted, alone or with the directory. Otherwise
// another host could get the lock. Again reports whether that was necessary.
func (l *stateLock) reacquire() (again bool, err error) {
	ours, err := l.f.Stat()
	if err != nil {
		return false, fmt.Errorf("state directory: %w", err)
	}
	if at, err := os.Stat(l.f.Name()); err == nil && os.SameFile(at, ours) {
		return false, nil
	}
	// The error describes any problem with the path.
	next, err := lockState(l.dir)
	if err != nil {
		return false, fmt.Errorf("the lock file of this host was deleted: %w", err)
	}
	if l.f != l.first {
		l.f.Close()
	}
	l.f = next.f
	return true, nil
}

// close releases the lock.
func (l *stateLock) close() {
	l.f.Close()
	// It is closed already, unless the lock was taken again.
	l.first.Close()
}

// instance returns the mark of the child processes of this host. No other host mistakes them for
// its own, except the next host with the same lock.
func instance(lock string) string {
	return lock + "." + strconv.Itoa(os.Getpid()) + "-" + rand.Text()[:12]
}
