package client

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// A server may ask something as soon as it is started, as which roots its client has. Directly there is
// a client then. Here the first session may come to the connection a moment later, so the question is
// held for that session. It is refused when none comes. A question is also held while it takes time to
// tell whether all clients but one are gone.

const (
	// QuestionHold is how long a question waits for the first session of a connection. Servers that
	// wait for the answer list nothing meanwhile, and the list of all servers waits for them.
	QuestionHold = 5 * time.Second
	// MaxEarly bounds the questions of one connection that wait, and likewise the log lines that come
	// before its handshake is over; earlySize bounds each in bytes.
	MaxEarly  = 8
	earlySize = 4 << 10
)

// rootsChanged has a server ask for the roots of its client anew.
const rootsChanged = "notifications/roots/list_changed"

// holdOver says that a question has waited for QuestionHold.
type holdOver struct {
	id      jsonrpc.ID
	attempt uint64
}

// rootsDue says that it may be known by now who has the roots.
type rootsDue struct{}

// holdQuestion keeps a question for which there soon may be somebody to ask, and reports whether it does.
func (c *Connection) holdQuestion(in transport.Inbound) bool {
	m := in.Message
	if _, soon := c.present(); len(c.sessions) > 0 && !soon || c.primary != (otp.Ref{}) ||
		len(c.early) >= MaxEarly || len(m.Params) > earlySize || !c.o.Kept.Fits(sizeOf(m)) ||
		slices.ContainsFunc(c.early, func(q jsonrpc.Message) bool { return q.ID == m.ID }) {
		return false
	}
	m.Params = slices.Clone(m.Params) // a part of what was read would keep all of it
	defer c.tellEarly(c.wantsSession())
	c.early = append(c.early, m)
	c.countEarly()
	c.p.After(QuestionHold, holdOver{m.ID, c.attempt})
	return true
}

// askEarly asks the first session what was held for it. Where a question for roots was refused because
// there was no session, the server is told that there are others now.
func (c *Connection) askEarly() {
	held, before := c.early, c.wantsSession()
	c.early = nil
	c.countEarly()
	defer c.tellEarly(before)
	for _, m := range held {
		c.question(transport.Inbound{Message: m})
	}
	c.tellRoots()
}

// tellRoots tells the server that roots have changed, when it was refused those of a session or has those
// of another than the one that would be asked now.
func (c *Connection) tellRoots() {
	session, soon := c.present()
	if soon {
		c.p.After(QuestionHold, rootsDue{})
	}
	asks := slices.ContainsFunc(c.early, func(m jsonrpc.Message) bool { return m.Method == "roots/list" })
	another := c.rootless || c.unsaid || c.rootsOf != "" && c.rootsOf != session
	if session == "" || c.up == nil || asks || !another {
		return
	}
	c.tellOtherRoots()
}

// wantsSession reports whether the server wants to ask the first session something.
func (c *Connection) wantsSession() bool { return len(c.early) > 0 || c.rootless }

// tellEarly tells the catalogue when that is not as it was, so that a session which only looks at lists
// comes to the connection too.
func (c *Connection) tellEarly(before bool) {
	if c.state == Ready && c.wantsSession() != before {
		c.publish(nil, nil)
	}
}

// holdOver asks what has waited for long enough, or refuses it where there still is nobody to ask.
func (c *Connection) holdOver(m holdOver) {
	defer c.tellEarly(c.wantsSession())
	for i, q := range c.early {
		if m.attempt == c.attempt && q.ID == m.id {
			c.early = slices.Delete(c.early, i, i+1)
			c.countEarly()
			if _, _, ok := c.onlySession(); ok {
				c.question(transport.Inbound{Message: q})
				return
			}
			c.rootless = c.rootless || q.Method == "roots/list"
			same := sameQuestion(q)
			q.Params = nil
			c.declined(declined{q, same, protocol.InvalidParams("no client uses this connection yet"), c.attempt})
			return
		}
	}
}

// dropEarly forgets a question that its server takes back.
func (c *Connection) dropEarly(id jsontext.Value) {
	c.early = slices.DeleteFunc(c.early, func(m jsonrpc.Message) bool { return m.ID.Raw() == string(id) })
	c.countEarly()
}

// countEarly counts the questions and log lines that wait, for the tenant.
func (c *Connection) countEarly() {
	n := 0
	for _, m := range c.early {
		n += sizeOf(m)
	}
	for _, in := range c.earlyLines {
		n += sizeOf(in.Message)
	}
	c.earlyKept.Resize(n)
}

// sizeOf is how many bytes of a question are kept.
func sizeOf(m jsonrpc.Message) int { return len(m.ID.Raw()) + len(m.Method) + len(m.Params) }
