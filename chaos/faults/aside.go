package faults

import "context"

// aside runs the work of a fault on one thread of the lowest priority. A real attacker has a
// machine of its own; here the fault shares a process with the measuring calls and must not delay
// them.
type aside struct{ work chan func() }

// stepAside starts the thread. The thread ends with the context.
func stepAside(ctx context.Context) aside {
	a := aside{work: make(chan func())}
	go a.run(ctx) // owner: the fault; ends with its context
	return a
}

func (a aside) run(ctx context.Context) {
	yieldToOthers()
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
func (a aside) do(ctx context.Context, f func()) bool {
	over := make(chan struct{})
	select {
	case a.work <- func() { defer close(over); f() }:
		<-over
		return true
	case <-ctx.Done():
		return false
	}
}
