package endings

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// call is one call of a client.
type call struct {
	mine         string // which no other call has
	begun, ended time.Time
	err          error
}

// client calls one tool after the other in one session until it is told to stop.
type client struct {
	name    string
	session session
	stop    chan struct{}
	done    chan struct{}

	mu    sync.Mutex // guards calls
	calls []call
}

// between is the pause of a client between two calls. In full, clients leave the machine time to
// notice at once what happens to their connections.
var between = func() time.Duration { return either(300*time.Millisecond, 50*time.Millisecond) }

// work is how long every other call takes, so that many are in flight at any time.
var work = func() time.Duration { return either(time.Second, 100*time.Millisecond) }

// start opens a session and begins to call.
func start(t *testing.T, o *opener, k kind, i int) *client {
	t.Helper()
	c := &client{name: fmt.Sprintf("%s, %d", k, i), stop: make(chan struct{}), done: make(chan struct{})}
	var err error
	if c.session, err = o.open(k, c.name); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	go c.run() // ends with end
	return c
}

func (c *client) run() {
	defer close(c.done)
	for n := 0; ; n++ {
		select {
		case <-c.stop:
			return
		case <-time.After(between()):
		}
		done := call{mine: fmt.Sprintf("%s: %d", c.name, n), begun: time.Now()}
		done.err = c.one(n, done.mine)
		done.ended = time.Now()
		c.mu.Lock()
		c.calls = append(c.calls, done)
		c.mu.Unlock()
	}
}

// one makes a call and checks that its answer is its own.
func (c *client) one(n int, mine string) error {
	tool, arguments, want := "echo", map[string]any{"message": mine}, mine
	if n%2 == 1 {
		tool, arguments, want = "sleep", map[string]any{"millis": work().Milliseconds(), "pad": mine}, "slept"
	}
	got, err := c.session.call("s__"+tool, arguments)
	if err == nil && !strings.HasPrefix(got, want) {
		err = fmt.Errorf("answer %q, want %q", got, want)
	}
	return err
}

// since reports whether a call was answered that began after a moment.
func (c *client) since(at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.calls) - 1; i >= 0 && c.calls[i].begun.After(at); i-- {
		if c.calls[i].err == nil {
			return true
		}
	}
	return false
}

// end stops calling and returns what there was.
func (c *client) end() []call {
	close(c.stop)
	<-c.done
	c.session.close()
	return c.calls
}
