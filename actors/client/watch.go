package client

import (
	"time"

	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// stopChecker is a transport that can find out that a silent server will not answer, and then ends.
type stopChecker interface{ CheckStopped() }

// looked says that it is time to look.
type looked struct{}

// watching is the wait for the next look; the zero watching is none.
type watching struct {
	on    bool
	timer otp.Timer
}

func (w *watching) stop() {
	w.timer.Stop()
	w.on = false
}

// watch looks at the server for as long as something waits for it, from stdio.QuietTime on. A
// caller of a program that was stopped would wait for its whole deadline, and so would the next
// caller.
func (c *Connection) watch() { c.watchAfter(stdio.QuietTime) }

func (c *Connection) watchAfter(d time.Duration) {
	if c.watching.on {
		return
	}
	if _, can := transport.As[stopChecker](c.up); !can {
		return
	}
	c.watching = watching{on: true, timer: c.p.After(d, looked{})}
}

func (c *Connection) look() {
	c.watching.on = false
	// A listen is not going to be answered soon.
	if up, can := transport.As[stopChecker](c.up); can && c.calls.len()+len(c.asked) > len(c.listens) {
		up.CheckStopped()
		c.watchAfter(stdio.StopCheckInterval)
	}
}
