package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Tree holds the places where this process may make groups.
type Tree struct {
	unified bool
	// base maps each controller to the folder of our own group, below which others are made.
	base map[string]string
}

// The controllers that are used.
const (
	memory = "memory"
	pids   = "pids"
)

// Find finds the places where groups can be made, and changes nothing. If there are none, the error
// says why.
func Find() (*Tree, error) { return find("/proc/self", os.Getpid()) }

func find(proc string, self int) (*Tree, error) {
	groups, err := os.ReadFile(filepath.Join(proc, "cgroup"))
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile(filepath.Join(proc, "mountinfo"))
	if err != nil {
		return nil, err
	}
	own := folders(string(groups), string(mounts))
	var cause error
	if dir := own[""]; dir != "" {
		if cause = usable(dir, self); cause == nil {
			return &Tree{unified: true, base: map[string]string{memory: dir, pids: dir}}, nil
		}
	}
	t := &Tree{base: map[string]string{}}
	for _, controller := range []string{memory, pids} {
		dir := own[controller]
		if dir == "" {
			continue
		}
		if err := writable(filepath.Join(dir, "tasks")); err != nil {
			cause = err
			continue
		}
		t.base[controller] = dir
	}
	switch {
	case len(t.base) > 0:
		return t, nil
	case cause == nil:
		cause = errors.New("no control groups are mounted")
	}
	return nil, cause
}

// folders returns the folder of our own group for each controller of version 1, and that of version
// 2 under "".
func folders(groups, mounts string) map[string]string {
	found := map[string]string{}
	// The format is "4:memory:/path", with version 2 "0::/path".
	for line := range strings.Lines(groups) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(part) != 3 {
			continue
		}
		for _, controller := range strings.Split(part[1], ",") {
			if dir := mounted(mounts, controller, part[2]); dir != "" {
				found[controller] = dir
			}
		}
	}
	return found
}

// mounted returns the folder of a group below the mount of its hierarchy, which may show only a
// part of the hierarchy.
func mounted(mounts, controller, group string) string {
	// The format is "30 25 0:26 /root /mount/point rw - cgroup cgroup rw,memory".
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		mount, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(mount) < 5 || len(kind) < 3 {
			continue
		}
		switch kind[0] {
		case "cgroup2":
			if controller != "" {
				continue
			}
		case "cgroup":
			if controller == "" || !slices.Contains(strings.Split(kind[2], ","), controller) {
				continue
			}
		default:
			continue
		}
		if below, err := filepath.Rel(mount[3], group); err == nil && filepath.IsLocal(below) {
			return filepath.Join(mount[4], below)
		}
	}
	return ""
}

// usable returns why no groups of version 2 can be made below this one, nil if they can.
func usable(dir string, self int) error {
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, controller := range []string{memory, pids} {
		if !slices.Contains(strings.Fields(string(controllers)), controller) {
			return fmt.Errorf("%s has no controller for %s", dir, controller)
		}
	}
	for _, file := range []string{"cgroup.procs", "cgroup.subtree_control"} {
		if err := writable(filepath.Join(dir, file)); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.type")); errors.Is(err, fs.ErrNotExist) {
		return nil // the root group may hold processes
	}
	for _, pid := range processes(dir) {
		if pid != self {
			return fmt.Errorf("%s holds process %d beside this one, %d", dir, pid, self)
		}
	}
	return nil
}

func writable(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
