package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Contention returns a function that says how long the threads of this process have run, and how
// long they have waited for a CPU while they could have run, both since its first call. The
// function must not be called concurrently. If the kernel does not provide the times, both stay 0.
func Contention() func() (ran, waited time.Duration) {
	c := &contention{tasks: "/proc/self/task"}
	return c.read
}

// contention sums up what the kernel reports for each thread (proc(5), schedstat). The sums of a
// thread disappear when the thread ends, so contention sums up the differences itself.
type contention struct {
	tasks  string
	each   map[string]scheduled
	ran    time.Duration
	waited time.Duration
}

// scheduled holds the times of one thread.
type scheduled struct{ ran, waited time.Duration }

func (c *contention) read() (ran, waited time.Duration) {
	now := make(map[string]scheduled, len(c.each))
	// The pattern is well formed.
	list, _ := filepath.Glob(filepath.Join(c.tasks, "[0-9]*", "schedstat"))
	for _, path := range list {
		text, err := os.ReadFile(path)
		if err != nil { // the thread has just ended
			continue
		}
		var s scheduled
		if _, err := fmt.Sscan(string(text), &s.ran, &s.waited); err != nil {
			continue
		}
		before := c.each[path]
		c.ran += max(0, s.ran-before.ran)
		c.waited += max(0, s.waited-before.waited)
		now[path] = s
	}
	c.each = now
	return c.ran, c.waited
}
