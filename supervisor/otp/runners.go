package otp

import "sync"

// maxRunners is how many goroutines wait for a process that has something to do: more than run at once while the machine keeps up.
const maxRunners = 64

// runners are the goroutines on which processes handle their messages. A process has one only while it has messages, so that an idle one costs no
// stack. They are used again because a new goroutine begins with a small stack, and a message that is handled on it makes that grow in
// several steps, which costs as much as handling it.
type runners struct {
	throughput int

	mu     sync.Mutex    // guards what follows
	idle   []chan func() // of those that wait, the last one first: its stack is warm
	closed bool
}

// Throughput is how many messages a process handles before others run.
func (r *runners) Throughput() int { return r.throughput }

// Schedule runs f soon.
func (r *runners) Schedule(f func()) {
	r.mu.Lock()
	n := len(r.idle)
	if n == 0 {
		r.mu.Unlock()
		// owner: close, which ends it when it waits; what hangs in f is its process's to tell
		go r.run(f)
		return
	}
	next := r.idle[n-1]
	r.idle = r.idle[:n-1]
	r.mu.Unlock()
	next <- f // it has room
}

// run is the life of a runner.
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

// wait has a runner wait for the next f, unless enough do.
func (r *runners) wait(next chan func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.idle) == maxRunners {
		return false
	}
	r.idle = append(r.idle, next)
	return true
}

// waiting is how many have nothing to do.
func (r *runners) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.idle)
}

// close ends those that wait, and each of the others when it has nothing to do.
func (r *runners) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, next := range r.idle {
		close(next)
	}
	r.idle = nil
}
