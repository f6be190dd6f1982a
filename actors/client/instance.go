package client

import (
	"mcpd/actors/client/internal/interest"
	"mcpd/actors/request"
	"mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
)

// Another asks the catalogue for one more instance of a connection's server. A connection makes
// this call. The answer may come before the instance is ready: it keeps what it is handed until
// then.
type Another = otp.Call[AnotherRequest, Instance]

// AnotherRequest says which connection wants another instance, and what its clients can be asked.
// Most bounds the instances there are, the connection among them.
type AnotherRequest struct {
	Server  string
	Key     tenant.Key
	Declare protocol.ClientCapabilities
	Most    int
}

// Instance is a connection of the same key but for its number.
type Instance struct {
	Ref otp.Ref
	Key tenant.Key
}

// Messages that only the first connection sends itself.
type (
	impatient struct{}
	regrow    struct{}
	another   struct {
		i   Instance
		err error
	}
	rested struct{ ref otp.Ref }
)

// Messages between the instances of a server. Classes: handed is ordinary; adopt, vacant and
// offers are owed, one for each instance, one for each call and one for each list that was fetched.
type (
	// adopt says who hands an instance its calls, and how many that were so far.
	adopt struct {
		by   otp.Ref
		last uint64
	}
	// handed is a call, the log level that its session asked for and on whose behalf that is, and
	// its number among those that the instance was handed.
	handed struct {
		*request.Forward
		level  string
		user   User
		number uint64
	}
	// vacant says that an instance has no calls, the last that it was handed included.
	vacant struct {
		Instance
		last uint64
	}
	// offers is what tools an instance has, once it has said that they have changed.
	offers struct {
		ref   otp.Ref
		tools map[string]bool
	}
)

func (offers) Class() otp.Class { return otp.Owed }
func (adopt) Class() otp.Class  { return otp.Owed }
func (vacant) Class() otp.Class { return otp.Owed }

// adopted hears who hands this instance its calls.
func (c *Connection) adopted(m adopt) {
	c.primary, c.last = m.by, m.last
	c.p.Monitor(m.by)
	c.tellTools()
	c.vacate()
}

// handed takes a call of another connection, whose session's log level is the server's until the
// next, or until the most verbose of several has ended.
func (c *Connection) handed(m *handed) {
	m.Exchange.Take(c.self)
	c.last = m.number
	alone := c.calls.len()+len(c.queue) == 0 // else it is written beside another
	c.clients.handed(m.Exchange.Session, m.user, alone)
	c.interested(interest.Event{
		Op: interest.Level, Session: m.Exchange.Session, Level: m.level, Alone: alone,
	})
	c.forward(m.Exchange)
}

// vacate tells who hands this instance its calls that it has none. Without anybody who does, it
// ends when that lasts.
func (c *Connection) vacate() {
	if c.primary == (otp.Ref{}) || c.state != Ready || len(c.queue)+c.calls.len() > 0 {
		return
	}
	if c.p.Send(c.primary, vacant{Instance{c.p.Self(), c.o.Key}, c.last}) != nil {
		c.primary = otp.Ref{}
		c.maybeLinger()
	}
}

// tellTools tells who hands this instance its calls what tools it has.
func (c *Connection) tellTools() {
	if c.o.Key.Instance > 0 && c.primary != (otp.Ref{}) && c.listing.had[catalog.Tools] {
		_ = c.p.Send(c.primary, offers{c.p.Self(), c.tools()})
	}
}

// tools are the names of the tools that this connection has listed.
func (c *Connection) tools() map[string]bool {
	names := map[string]bool{}
	for _, item := range c.listing.lists[catalog.Tools] {
		name, _ := splice.GetString(item, "name")
		names[name] = true
	}
	return names
}
