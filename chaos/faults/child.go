package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// ErrNoChild says that a server has no process now: it is idle or starting, or it is not a child
// process at all.
var ErrNoChild = errors.New("it has no process")

// ErrGone says that the process has ended since the host was asked, or never belonged to the host.
var ErrGone = errors.New("it is none of the host's processes")

func errElsewhere(s *Site) error {
	return fmt.Errorf("a process of %s: the host is on another machine", s.Server)
}

// victim is a server's process. It holds a process handle, so that a signal cannot reach another
// process that was given the same pid since.
type victim struct {
	server  string
	process *os.Process
}

func (v victim) String() string { return fmt.Sprintf("process %d of %s", v.process.Pid, v.server) }

// child picks one of the processes of the site's server at random.
func child(ctx context.Context, s *Site) (victim, error) {
	if s.PID == 0 {
		return victim{}, errElsewhere(s)
	}
	tree, err := s.Host.Tree(ctx)
	if err != nil {
		return victim{}, err
	}
	rows := tree.Children(s.Tenant, s.Server)
	if len(rows) == 0 {
		return victim{}, fmt.Errorf("server %s of %s: %w", s.Server, s.Tenant, ErrNoChild)
	}
	pid := rows[s.Rand.IntN(len(rows))].PID
	p, err := os.FindProcess(pid)
	if err != nil {
		return victim{}, fmt.Errorf("server %s of %s, process %d: %w", s.Server, s.Tenant, pid, err)
	}
	if !below(pid, s.PID) { // checked after FindProcess, so about the process that is held
		_ = p.Release()
		return victim{}, fmt.Errorf("server %s of %s, process %d, host %d: %w", s.Server, s.Tenant, pid,
			s.PID, ErrGone)
	}
	return victim{s.Server + " of " + s.Tenant, p}, nil
}

// maxDepth bounds the number of parents that below follows from a process up to the host. A server
// is a child of the host, or of a launcher.
const maxDepth = 8

// below reports whether a process descends from the process host. It is false where the system does
// not tell parents, as everywhere but on Linux.
func below(pid, host int) bool {
	for range maxDepth {
		if pid == host {
			return true
		}
		if pid = parent(pid); pid <= 1 {
			return false
		}
	}
	return false
}

// parent returns the parent of a process, or 0 if it is unknown.
func parent(pid int) int {
	_, parent, _, _ := stat(pid)
	return parent
}

// done returns a fault that is over as soon as it has struck.
func done(target string) Injected {
	return Injected{
		Target: target,
		Heal:   func(context.Context) error { return nil },
		Hits:   func(context.Context) (int, error) { return 1, nil },
	}
}
