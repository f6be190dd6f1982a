package faults

import (
	"runtime"
	"syscall"
)

// lowest is the priority at which a thread runs when no other wants to.
const lowest = 19

// yieldToOthers gives the caller a thread of its own at the lowest priority. The thread is never
// unlocked, so it ends with the goroutine: a priority once given up cannot be had back.
func yieldToOthers() {
	runtime.LockOSThread()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), lowest) // without it the fault is merely louder
}
