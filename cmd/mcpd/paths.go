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

// stateDir is where state is kept: as configured, else where systemd says, else where XDG says, else where root keeps it. It is always an absolute
// path, so that no state lands in the working directory.
func stateDir(configured string, getenv func(string) (string, bool), isRoot bool) (string, error) {
	if configured != "" {
		return configured, nil // which the configuration has checked
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
	return "", errors.New("there is no place for state: $HOME is no absolute path; set it, or name a directory with --state-dir")
}

// runtimeDir is where the admin tokens are kept while the host runs.
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

// trustedRuntimeDir is runtimeDir, if nobody else can change what is there.
func trustedRuntimeDir() (string, error) {
	dir := runtimeDir(os.LookupEnv, os.Geteuid() == 0)
	if err := self().trusts(dir, "it holds the tokens of the host"); err != nil {
		return "", fmt.Errorf("runtime directory: %w", err)
	}
	return dir, nil
}

// stateLock makes the state directory this host's own until it is closed. Two daemons on one state would undo each other's work.
type stateLock struct {
	dir   string
	f     *os.File
	first *os.File // which its name is of: while it is open, its number is nobody else's, also when it was deleted
}

// A host that was killed while it started a server leaves its lock to that process until this has become the server, moments later.
const (
	lockPatience = 500 * time.Millisecond
	lockPause    = 5 * time.Millisecond
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
	for end := time.Now().Add(lockPatience); errors.Is(err, syscall.EWOULDBLOCK) && time.Now().Before(end); {
		time.Sleep(lockPause)
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another mcpd uses %s: stop it, or name another directory with --state-dir", dir)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &stateLock{dir, f, f}, nil
}

// makeState makes the state directory, unless there is one. It refuses one that others could change.
func makeState(dir string) error {
	const why = "the next host goes on from what it finds there"
	w := self()
	if err := w.trusts(dir, why); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return errors.Join(w.trusts(dir, why), w.trustsIn(dir, why))
}

// name is that of the lock on this machine: no other living daemon has it.
func (l *stateLock) name() (string, error) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(l.first.Fd()), &stat); err != nil {
		return "", fmt.Errorf("lock %s: %w", l.first.Name(), err)
	}
	return fmt.Sprintf("%x-%x", stat.Dev, stat.Ino), nil
}

// hold takes the lock again where it was deleted, with the directory or alone: another daemon would get it. Again reports whether it had to.
func (l *stateLock) hold() (again bool, err error) {
	ours, err := l.f.Stat()
	if err != nil {
		return false, fmt.Errorf("state directory: %w", err)
	}
	if at, err := os.Stat(l.f.Name()); err == nil && os.SameFile(at, ours) {
		return false, nil
	}
	next, err := lockState(l.dir) // says what is wrong with the path, if anything is
	if err != nil {
		return false, fmt.Errorf("the lock of this host was deleted: %w", err)
	}
	if l.f != l.first {
		l.f.Close()
	}
	l.f = next.f
	return true, nil
}

// close gives the lock back.
func (l *stateLock) close() {
	l.f.Close()
	l.first.Close() // closed already, unless the lock was taken again
}

// instance marks the children of this daemon, so that none of them can be taken for another's, but by the next one with the same lock.
func instance(lock string) string {
	return lock + "." + strconv.Itoa(os.Getpid()) + "-" + rand.Text()[:12]
}
