package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// ErrNoChild says that a server has no process now: it is idle, starting, or no child process at all.
var ErrNoChild = errors.New("it has no process")

// ErrGone says that the process has ended since the host was asked, or was never the host's.
var ErrGone = errors.New("it is none of the host's processes")

func errElsewhere(s *Site) error {
	return fmt.Errorf("a process of %s: the host is on another machine", s.Server)
}

// victim is a server's process. It is held, so that what is sent to it reaches nobody who was given its number since.
type victim struct {
	server  string
	process *os.Process
}

func (v victim) String() string { return fmt.Sprintf("process %d of %s", v.process.Pid, v.server) }

// child draws one of the processes of the site's server.
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
	if !below(pid, s.PID) { // asked of the process that is held
		_ = p.Release()
		return victim{}, fmt.Errorf("server %s of %s, process %d, host %d: %w", s.Server, s.Tenant, pid, s.PID, ErrGone)
	}
	return victim{s.Server + " of " + s.Tenant, p}, nil
}

// maxDepth bounds the way from a process up to the host. A server is a child of it, or of a launcher.
const maxDepth = 8

// below reports whether a process descends from another. Where the system does not tell, as elsewhere than on Linux, it does not.
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

// parent is the parent of a process, 0 when there is none to be known.
func parent(pid int) int {
	_, parent, _, _ := stat(pid)
	return parent
}

// done is a fault that is over as soon as it has struck.
func done(target string) Injected {
	return Injected{
		Target: target,
		Heal:   func(context.Context) error { return nil },
		Hits:   func(context.Context) (int, error) { return 1, nil },
	}
}
