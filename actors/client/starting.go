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

// A program may print something in place of a handshake, as an HTTP server does that is configured
// as a program. It counts as starting until start_timeout is over. Before that, operators and
// callers who stop waiting are shown what it printed.

// FirstPeek is the delay before the first look at what a starting program has printed. Each later
// delay is twice as long.
const FirstPeek = 500 * time.Millisecond

// peekDue says that it is time to look.
type peekDue struct {
	attempt uint64
	last    time.Duration
}

// printingTransport is a transport that knows what its server has printed that is not a message.
type printingTransport interface {
	// Printed describes that output; said is nil for none. The stderr is the end of the standard
	// error.
	Printed() (stderr []byte, said error)
}

// peekLater schedules a look at what the program has printed.
func (c *Connection) peekLater(last time.Duration) {
	if _, can := transport.As[printingTransport](c.up); can {
		c.p.After(max(last, FirstPeek), peekDue{c.attempt, max(last, FirstPeek)})
	}
}

// peek shows what a starting program has printed.
func (c *Connection) peek(m peekDue) {
	up, can := transport.As[printingTransport](c.up)
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

// tellStart sets what the caller of a waiting call is told if the caller's time is over first: that
// the server is still starting, and what the program has printed.
func (c *Connection) tellStart(x *request.Exchange) {
	if c.state != Starting {
		return
	}
	ending := c.peeked
	if ending == nil {
		ending = StillStarting()
	}
	x.Waits(tellsOf(&protocol.Error{Data: jsontext.Value("{}")}, x.Principal, ending))
}

// tellStarts is tellStart for all queued calls. Once the server has started they wait for other
// reasons.
func (c *Connection) tellStarts() {
	for _, x := range c.queue {
		x.Waits(nil)
		c.tellStart(x)
	}
}

// Class returns otp.Reserved (reserved), so a full mailbox does not refuse the message: there is
// one look at a time.
func (peekDue) Class() otp.Class { return otp.Reserved }
