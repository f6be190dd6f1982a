// Package cgroup bounds the memory and the number of a program's processes with a control group of its own, where this process may make
// one. It does not know what the programs are, nor who starts them.
//
// With version 2 the groups are below the group of this process, which moves into a leaf beside them: a group with limits for its children
// holds no processes itself. With version 1 they are below the group of this process in the hierarchy of either controller.
package cgroup

import "time"

// Limits are the bounds of one group. Zero is none.
type Limits struct {
	Memory    uint64 // bytes of all its processes together
	Processes uint64 // and threads: the kernel counts both
}

const (
	// leaf is the group that this process moves to, and prefix is how the others begin.
	leaf   = "mcpd"
	prefix = "mcpd-"
	// removePause is before a group is removed that still has processes, which are on their way out. It doubles.
	removePause = time.Millisecond
)
