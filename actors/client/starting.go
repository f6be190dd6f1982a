package client

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// A program that prints something in the place of a handshake, as an HTTP server does that is
// configured as a program, is still starting until start_timeout is over. What it printed is shown
// before that, to operators and to callers who stop waiting.

// FirstPeek is when it is looked at first what a starting program has printed. Later looks follow at
// twice the time each.
const FirstPeek = 500 * time.Millisecond

// peekDue says that it is time to look.
type peekDue struct {
	attempt uint64
	last    time.Duration
}

// prints is a transport that knows what its server has printed that is no message.
type prints interface {
	// Printed says so in words; nil for nothing. Stderr is the last of the standard error.
	Printed() (stderr []byte, said error)
}

// peekLater has it looked at what the program has printed.
func (c *Connection) peekLater(last time.Duration) {
	if _, can := transport.As[prints](c.up); can {
		c.p.After(max(last, FirstPeek), peekDue{c.attempt, max(last, FirstPeek)})
	}
}

// peek shows what a program has printed that is still starting.
func (c *Connection) peek(m peekDue) {
	up, can := transport.As[prints](c.up)
	if m.attempt != c.attempt || c.state != Starting || !can {
		return
	}
	stderr, said := up.Printed()
	if said != nil || len(stderr) > 0 {
		end := StillStarting()
		if said != nil {
			end.Text += ": " + said.Error()
		}
		end.Stderr = telemetry.Clean(string(stderr), telemetry.MaxValue)
		end.Readers = c.served.readers(c.o.ShareLogs)
		if c.peeked == nil || c.peeked.Text != end.Text || c.peeked.Stderr != end.Stderr {
			c.peeked = end
			c.publish(end, nil)
			c.tellStarts()
		}
	}
	c.peekLater(2 * m.last)
}

// tellStart has the caller of a call that waits for the start told so, and what the program has printed,
// if the caller's time is over first.
func (c *Connection) tellStart(x *request.Exchange) {
	if c.state != Starting {
		return
	}
	why := c.peeked
	if why == nil {
		why = StillStarting()
	}
	x.Waits(tellsOf(&protocol.Error{Data: jsontext.Value("{}")}, x.Principal, why))
}

// tellStarts does so for all calls that wait. Once the server has started they wait for other reasons.
func (c *Connection) tellStarts() {
	for _, x := range c.queue {
		x.Waits(nil)
		c.tellStart(x)
	}
}

// Class lets a look in however full the mailbox is: there is one at a time.
func (peekDue) Class() otp.Class { return otp.Owed }
