package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Contention returns a function that says how long the threads of this process have run, and how
// long they have waited for a CPU while they could have run, since its first call. It is for one
// goroutine at a time. Where the kernel does not tell, both stay 0.
func Contention() func() (ran, waited time.Duration) {
	c := &contention{tasks: "/proc/self/task"}
	return c.read
}

// contention sums up what the kernel says of each thread (proc(5), schedstat). A thread that has
// ended takes its own sums with it, so the differences are summed up here.
type contention struct {
	tasks  string
	each   map[string]scheduled
	ran    time.Duration
	waited time.Duration
}

// scheduled is of one thread.
type scheduled struct{ ran, waited time.Duration }

func (c *contention) read() (ran, waited time.Duration) {
	now := make(map[string]scheduled, len(c.each))
	list, _ := filepath.Glob(filepath.Join(c.tasks, "[0-9]*", "schedstat")) // the pattern is well formed
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
