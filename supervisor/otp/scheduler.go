package otp

import "context"

// Scheduler decides what runs when in a System. Production has none: goroutines run as the machine
// decides. A simulation has one that lets goroutines run one at a time, in an order that can be
// repeated.
type Scheduler interface {
	// Schedule runs f later, once, because a process has messages. f handles at most Throughput
	// messages. If there are more, it is scheduled again.
	Schedule(f func())
	Throughput() int
	// Handle is called before the process at path handles msg, on its goroutine. A panic in Handle is
	// a crash of the process.
	Handle(path string, msg any)
	// Go runs f as the goroutine name of the worker at path. The incarnation of the worker lasts as
	// long as ctx.
	Go(ctx context.Context, path, name string, f func())
	// Wait is called instead of blocking: by functions that Go runs, and by the code that started the
	// simulation. It returns when ready returns true.
	Wait(ready func() bool)
}

// handle tells the scheduler, if there is one, which message is about to be handled.
func (s *System) handle(path string, msg any) {
	if s.scheduler != nil {
		s.scheduler.Handle(path, msg)
	}
}

// isClosed reports whether a channel is closed.
func isClosed[T any](c <-chan T) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
