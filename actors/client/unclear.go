package client

import (
	"slices"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// Clarity is how long a question that could be about calls of several clients waits for the others to end. Only a server whose transport
// names calls, and that was never seen to ask without naming one, can have such: see exclusive.
const Clarity = 5 * time.Second

// unclear is a question of which it is not known whom it is for.
type unclear struct {
	in    transport.Inbound
	timer otp.Timer
}

type stillUnclear struct{ id jsonrpc.ID }

// wait keeps a question until all calls that are left are one client's, and reports false when it cannot become clear. No other call is
// begun meanwhile: the server is known to ask like this now.
func (c *Connection) wait(in transport.Inbound) bool {
	if len(c.during()) < 2 || len(c.unclear)+len(c.open) >= MaxQuestions {
		return false
	}
	c.unclear = append(c.unclear, unclear{in, c.p.After(Clarity, stillUnclear{in.Message.ID})})
	return true
}

// clarify looks at the questions again after a call has ended.
func (c *Connection) clarify() {
	again := c.unclear
	c.unclear = nil
	for _, u := range again {
		u.timer.Stop()
		c.question(u.in)
	}
}

// forget takes a question out, and reports whether it was there.
func (c *Connection) forget(id string) bool {
	i := slices.IndexFunc(c.unclear, func(u unclear) bool { return u.in.Message.ID.Raw() == id })
	if i < 0 {
		return false
	}
	c.unclear[i].timer.Stop()
	c.unclear = slices.Delete(c.unclear, i, i+1)
	return true
}

// stayedUnclear refuses a question: whose it is will not be known.
func (c *Connection) stayedUnclear(id jsonrpc.ID) {
	if c.forget(id.Raw()) {
		c.refuse(id, errUnclear())
	}
}

func errUnclear() error {
	return protocol.InvalidParams("calls of several clients are in flight, and this does not say to which it belongs")
}
