package client

import (
	"slices"

	"mcpd/transport"
)

// A server may write to its log before it has answered the handshake, and a client that is
// connected to it directly reads that. Such lines are kept until it is known what the server
// speaks, and then for the session that has caused the start, which comes to the connection at
// about the same time.

// earlyLinesOver says that such lines have waited for QuestionHold.
type earlyLinesOver struct{ attempt uint64 }

// greeting reports whether the server has not agreed to anything yet.
func (c *Connection) greeting() bool {
	return c.state == Starting && (c.probing || c.facts.Version == 0)
}

// holdLine keeps a log line that came before the handshake was over. The bounds are those of early
// questions, of which there are none yet.
func (c *Connection) holdLine(in transport.Inbound) {
	m := &in.Message
	if len(c.earlyLines) >= MaxEarly || len(m.Params) > earlySize || !c.o.Kept.Fits(sizeOf(*m)) {
		c.undelivered(m.Method, "queue_full")
		return
	}
	m.Params = slices.Clone(m.Params) // a part of what was read would keep all of it
	c.earlyLines = append(c.earlyLines, in)
	c.countEarly()
}

// tellLines passes on the lines that were kept, as soon as there is somebody to hear of them.
func (c *Connection) tellLines() {
	if len(c.earlyLines) == 0 || c.greeting() {
		return
	}
	if len(c.sessions) == 0 && len(c.queue) == 0 {
		c.p.After(QuestionHold, earlyLinesOver{c.attempt})
		return
	}
	held := c.earlyLines
	c.earlyLines = nil
	c.countEarly()
	for _, in := range held {
		c.logged(in)
	}
}

// dropLines counts the lines that were kept and that nobody will hear of.
func (c *Connection) dropLines() {
	for _, in := range c.earlyLines {
		c.undelivered(in.Message.Method, unowned)
	}
	c.earlyLines = nil
}

// earlyLinesOver lets go of lines for which nobody has come.
func (c *Connection) earlyLinesOver(m earlyLinesOver) {
	if m.attempt == c.attempt {
		c.dropLines()
		c.countEarly()
	}
}
