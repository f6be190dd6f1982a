package faults

import (
	"runtime"
	"syscall"
)

// lowest is the nice value of a thread that runs only when no other thread wants to.
const lowest = 19

// lowerPriority gives the caller a thread of its own at the lowest priority. The thread is never
// unlocked, so it ends with the goroutine: an unprivileged thread cannot raise its priority again.
func lowerPriority() {
	runtime.LockOSThread()
	// best effort: at normal priority the fault only disturbs more
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), lowest)
}
