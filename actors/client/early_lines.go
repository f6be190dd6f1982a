package client

import (
	"mcpd/actors/client/internal/early"
	"mcpd/transport"
)

// A server may write to its log before it has answered the handshake, and a client that is
// connected to it directly reads that. Such lines are kept until the revision of the server is
// known. Then they wait for the session that has caused the start, which comes to the connection at
// about the same time.

// earlyLinesOver says that such lines have waited for QuestionHold.
type earlyLinesOver struct{ attempt uint64 }

// holdLine keeps a log line that came before the handshake was over.
func (c *Connection) holdLine(in transport.Inbound) {
	if !c.o.Kept.Fits(early.Size(in)) || !c.early.Hold(in) {
		c.undelivered(in.Message.Method, "queue_full")
		return
	}
	c.countEarly()
}

// tellLines passes on the lines that were kept, as soon as there is a client for them.
func (c *Connection) tellLines() {
	if !c.early.Lines() || c.greeting() {
		return
	}
	if c.clients.attached() == 0 && len(c.queue) == 0 {
		c.p.After(QuestionHold, earlyLinesOver{c.attempt})
		return
	}
	held := c.early.TakeLines()
	c.countEarly()
	for _, in := range held {
		c.logged(in)
	}
}

// dropLines counts the lines that were kept and that no client will get.
func (c *Connection) dropLines() {
	for _, in := range c.early.TakeLines() {
		c.undelivered(in.Message.Method, unowned)
	}
}

// earlyLinesOver drops lines for which no client has come.
func (c *Connection) earlyLinesOver(m earlyLinesOver) {
	if m.attempt == c.attempt {
		c.dropLines()
		c.countEarly()
	}
}
