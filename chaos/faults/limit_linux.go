package faults

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// setDescriptors sets the soft limit of descriptors of a process, capped by its hard limit. A soft
// limit of 0 means the hard limit.
func setDescriptors(pid int, soft uint64) error {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		return fmt.Errorf("limit of process %d: %w", pid, err)
	}
	if limit.Cur = min(soft, limit.Max); soft == 0 {
		limit.Cur = limit.Max
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		return fmt.Errorf("limit of process %d: %w", pid, err)
	}
	return nil
}

// descriptorsLeft returns how many descriptors this process can still open.
func descriptorsLeft() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt
	}
	used, err := descriptors(os.Getpid())
	if err != nil {
		return math.MaxInt
	}
	return int(min(limit.Cur, math.MaxInt32)) - len(used)
}
