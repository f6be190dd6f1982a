package otp

import "sync"

// maxRunners is how many idle goroutines are kept for processes. More than this do not run at once
// while the machine keeps up.
const maxRunners = 64

// runners are the goroutines on which processes handle their messages. A process has one only while
// it has messages, so an idle process costs no stack. The goroutines are reused, because the small
// stack of a new one grows in several steps while it handles a message, which costs as much as the
// message itself.
type runners struct {
	throughput int

	mu     sync.Mutex    // guards the fields below
	idle   []chan func() // those that wait, used last-in first-out: the last stack is warm
	closed bool
}

// Throughput returns how many messages a process handles before others run.
func (r *runners) Throughput() int { return r.throughput }

// Schedule runs f soon, on an idle goroutine or a new one.
func (r *runners) Schedule(f func()) {
	r.mu.Lock()
	n := len(r.idle)
	if n == 0 {
		r.mu.Unlock()
		// owner: runners.close, which ends it once it waits; its process reports a hang in f
		go r.run(f)
		return
	}
	next := r.idle[n-1]
	r.idle = r.idle[:n-1]
	r.mu.Unlock()
	next <- f // never blocks: the channel has room
}

// run is the body of a goroutine.
func (r *runners) run(f func()) {
	next := make(chan func(), 1)
	for ok := true; ok; {
		f()
		if !r.wait(next) {
			return
		}
		f, ok = <-next
	}
}

// wait puts a goroutine into the idle list, unless the list is full. It reports whether the
// goroutine should wait for the next f.
func (r *runners) wait(next chan func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.idle) == maxRunners {
		return false
	}
	r.idle = append(r.idle, next)
	return true
}

// waiting returns how many goroutines are idle.
func (r *runners) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.idle)
}

// close ends the idle goroutines at once, and each of the others when it becomes idle.
func (r *runners) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, next := range r.idle {
		close(next)
	}
	r.idle = nil
}
