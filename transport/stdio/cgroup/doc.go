// Package cgroup bounds the memory and the number of processes of a program with a control group of
// its own, where this process may make one. It does not know what the programs are, nor what starts
// them.
//
// With version 2 the groups are below the group of this process, which moves into a leaf group
// beside them: a group with limits for its children may hold no processes itself. With version 1
// they are below the group of this process in the hierarchy of each controller.
package cgroup

import "time"

// Limits are the bounds of one group. Zero is no bound.
type Limits struct {
	Memory    uint64 // bytes of all its processes together
	Processes uint64 // processes and threads: the kernel counts both
}

const (
	// leaf is the name of the group that this process moves to. prefix begins the names of the other
	// groups.
	leaf   = "mcpd"
	prefix = "mcpd-"
	// removePause is the pause before the removal of a group that still has processes, which are
	// exiting. It doubles.
	removePause = time.Millisecond
)
