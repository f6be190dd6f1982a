package faults

import "context"

// lowPriorityThread runs the work of a fault on one thread of the lowest priority. A real attacker
// has a machine of its own; here the fault shares a process with the measuring calls and must not
// delay them.
type lowPriorityThread struct{ work chan func() }

// startLowPriorityThread starts the thread. The thread ends with the context.
func startLowPriorityThread(ctx context.Context) lowPriorityThread {
	a := lowPriorityThread{work: make(chan func())}
	go a.run(ctx) // owner: the fault; ends with its context
	return a
}

func (a lowPriorityThread) run(ctx context.Context) {
	lowerPriority()
	for {
		select {
		case do := <-a.work:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// do runs f on the thread and waits until f returns. It reports whether f ran: once the context has
// ended, nothing runs.
func (a lowPriorityThread) do(ctx context.Context, f func()) bool {
	over := make(chan struct{})
	select {
	case a.work <- func() { defer close(over); f() }:
		<-over
		return true
	case <-ctx.Done():
		return false
	}
}
