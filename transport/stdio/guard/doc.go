// Package guard ends processes that a daemon has left behind. It finds them by a mark in their
// environment, and by their process groups, which the daemon tells it.
//
// It is also the program of a small process beside the daemon: the daemon's own executable, started
// again. That process waits for the end of the daemon and then ends its children. The package does
// not know the purpose of the processes, nor why the daemon ended. Linux only.
package guard

import "time"

const (
	// endTime is how long the guard goes on killing. Only a process stuck in the kernel outlives the
	// first look, and it ends by itself.
	endTime = 10 * time.Second
	// pause is the time between two looks at every process on the system. It doubles while they find
	// none.
	pause = 2 * time.Millisecond
	// looks is how many consecutive looks must find no process after the daemon was killed; together
	// they take some 60 ms. A process that is inside exec has no environment for a moment, and so no
	// mark.
	looks = 5
	// maxEnviron bounds the bytes read of one environment: the most that the kernel allows a program,
	// with its usual stack of 8 MiB.
	maxEnviron = 2 << 20
)
