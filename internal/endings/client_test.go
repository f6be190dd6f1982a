package endings

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// call is one tool call of a client.
type call struct {
	text         string // text that no other call has
	begun, ended time.Time
	err          error
}

// client makes one tool call after the other in one session until it is told to stop.
type client struct {
	name    string
	session session
	stop    chan struct{}
	done    chan struct{}

	mu    sync.Mutex // guards calls
	calls []call
}

// pause is the pause of a client between two calls. It is longer in the full form, so that the
// machine has time to notice at once when a connection ends.
var pause = func() time.Duration { return fullOrShort(300*time.Millisecond, 50*time.Millisecond) }

// callDuration is the duration of every other call. It is long, so that many calls are in flight at
// any time.
var callDuration = func() time.Duration { return fullOrShort(time.Second, 100*time.Millisecond) }

// start opens a session and begins to make calls.
func start(t *testing.T, o *opener, k kind, i int) *client {
	t.Helper()
	c := &client{
		name: fmt.Sprintf("%s, %d", k, i), stop: make(chan struct{}), done: make(chan struct{}),
	}
	var err error
	if c.session, err = o.open(k, c.name); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	go c.run() // end stops it
	return c
}

func (c *client) run() {
	defer close(c.done)
	for n := 0; ; n++ {
		select {
		case <-c.stop:
			return
		case <-time.After(pause()):
		}
		done := call{text: fmt.Sprintf("%s: %d", c.name, n), begun: time.Now()}
		done.err = c.makeCall(n, done.text)
		done.ended = time.Now()
		c.mu.Lock()
		c.calls = append(c.calls, done)
		c.mu.Unlock()
	}
}

// makeCall makes a call and checks that the answer belongs to this call.
func (c *client) makeCall(n int, mine string) error {
	tool, arguments, want := "echo", map[string]any{"message": mine}, mine
	if n%2 == 1 {
		tool, arguments, want = "sleep", map[string]any{"millis": callDuration().Milliseconds(),
			"pad": mine}, "slept"
	}
	got, err := c.session.call("s__"+tool, arguments)
	if err == nil && !strings.HasPrefix(got, want) {
		err = fmt.Errorf("answer %q, want %q", got, want)
	}
	return err
}

// since reports whether a call that began after the given time was answered.
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

// end stops the client and returns its calls.
func (c *client) end() []call {
	close(c.stop)
	<-c.done
	c.session.close()
	return c.calls
}
