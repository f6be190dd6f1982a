package otp

import "context"

// Scheduler decides what runs when in a System. There is none in production, where goroutines run as the machine sees fit; a simulation is
// one that lets them run one at a time, in an order that it can repeat.
type Scheduler interface {
	// Schedule has f run later, once: a process has messages. F handles Throughput of them at most, and is scheduled again for more.
	Schedule(f func())
	Throughput() int
	// Handle hears what the process at path is about to handle, on the goroutine that does. When it panics, that is the crash of the process.
	Handle(path string, msg any)
	// Go runs f as the goroutine name of the worker at path, whose incarnation lasts as long as ctx.
	Go(ctx context.Context, path, name string, f func())
	// Wait is called, instead of blocking, by what Go runs and by who has started the simulation. It returns when ready says so.
	Wait(ready func() bool)
}

// handle tells the scheduler, if there is one, what is handled.
func (s *System) handle(path string, msg any) {
	if s.scheduler != nil {
		s.scheduler.Handle(path, msg)
	}
}

// isClosed reports whether a channel is.
func isClosed[T any](c <-chan T) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
