// Package guard ends processes that a daemon has left behind. It finds them by a mark in their environment, and by the process groups that it
// was told of. It is also the program of a small process beside the daemon that waits for its end and then does so: the daemon's own
// executable, started again. It does not know what the processes are for, nor why the daemon ended. Linux only.
package guard

import "time"

const (
	// endTime is how long the guard goes on killing. Only what is stuck in the kernel lasts longer than one look, and it ends by itself.
	endTime = 10 * time.Second
	// pause is between two looks at every process there is. It doubles while they find nobody.
	pause = 2 * time.Millisecond
	// looks is how many looks in a row have to find nobody after the daemon was killed: over some 60 ms. A process that is just executing
	// another program has no environment for a moment, and so no mark.
	looks = 5
	// maxEnviron bounds what is read of one environment: as much as the kernel lets a program have, with its usual stack of 8 MiB.
	maxEnviron = 2 << 20
)
