package faults

import "context"

// aside does the work of a fault on one thread of the lowest priority. An attacker has a machine of
// its own; what a fault computes in the process that measures must not delay the measuring calls.
type aside struct{ work chan func() }

// stepAside starts the thread. It ends with the context.
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

// do has the thread do it and waits for the end. It reports whether it was done: after the context's
// end nothing is.
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
