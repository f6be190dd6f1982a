package client

import (
	"mcpd/actors/client/internal/interest"
	"mcpd/actors/request"
	"mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/supervisor/otp"
)

// StartInstance asks the catalogue for one more instance of a connection's server. A connection
// makes this call. The answer may come before the new instance is ready: the instance then queues
// the calls that it is handed.
type StartInstance = otp.Call[StartInstanceRequest, Instance]

// StartInstanceRequest names the connection that wants another instance, and the capabilities that
// the server is told. Most bounds the number of instances, including that connection.
type StartInstanceRequest struct {
	Server  string
	Key     tenant.Key
	Declare protocol.ClientCapabilities
	Most    int
}

// Instance is a connection with the same key except for the instance number.
type Instance struct {
	Ref otp.Ref
	Key tenant.Key
}

// Messages that the first connection sends to itself.
type (
	lookAgainDue     struct{}
	retryInstanceDue struct{}
	instanceStarted  struct {
		i   Instance
		err error
	}
	idleInstanceDue struct{ ref otp.Ref }
)

// Messages between the instances of a server. handed has the ordinary message class. The others are
// reserved: there is one adopt for each instance, one vacant for each call and one offers
// for each list that was fetched.
type (
	// adopt tells an instance which connection hands it calls, and how many it was handed so far.
	adopt struct {
		by   otp.Ref
		last uint64
	}
	// handed carries a call to an instance, with the log level that the call's session asked for, the
	// user of that session, and the number of the call among those that the instance was handed.
	handed struct {
		*request.Forward
		level  string
		user   User
		number uint64
	}
	// instanceIdle says that an instance has no calls left, including the last that it was handed.
	instanceIdle struct {
		Instance
		last uint64
	}
	// toolsChanged lists the tools of an instance, once its server has announced that they changed.
	toolsChanged struct {
		ref   otp.Ref
		tools map[string]bool
	}
)

func (toolsChanged) Class() otp.Class { return otp.Reserved }
func (adopt) Class() otp.Class        { return otp.Reserved }
func (instanceIdle) Class() otp.Class { return otp.Reserved }

// adopted takes note of the connection that hands this instance its calls (the primary).
func (c *Connection) adopted(m adopt) {
	c.primary, c.last = m.by, m.last
	c.p.Monitor(m.by)
	c.tellTools()
	c.reportIdle()
}

// takeHanded takes a call from another connection. The log level of the call's session becomes the
// server's level. While calls of several sessions overlap, the most verbose of their levels holds;
// the next call that comes alone replaces it.
func (c *Connection) takeHanded(m *handed) {
	m.Exchange.SetHolder(c.self)
	c.last = m.number
	alone := c.calls.len()+len(c.queue) == 0 // otherwise it is written beside other calls
	c.clients.handed(m.Exchange.Session, m.user, alone)
	c.stepInterest(interest.Event{
		Op: interest.Level, Session: m.Exchange.Session, Level: m.level, Alone: alone,
	})
	c.forward(m.Exchange)
}

// reportIdle tells the primary that this instance has no calls. An instance whose primary is gone
// ends if it stays without one.
func (c *Connection) reportIdle() {
	if c.primary == (otp.Ref{}) || c.state != Ready || len(c.queue)+c.calls.len() > 0 {
		return
	}
	if c.p.Send(c.primary, instanceIdle{Instance{c.p.Self(), c.o.Key}, c.last}) != nil {
		c.primary = otp.Ref{}
		c.maybeLinger()
	}
}

// tellTools tells the primary which tools this instance has.
func (c *Connection) tellTools() {
	if c.o.Key.Instance > 0 && c.primary != (otp.Ref{}) && c.listing.had[catalog.Tools] {
		_ = c.p.Send(c.primary, toolsChanged{c.p.Self(), c.tools()})
	}
}

// tools returns the names of the tools that this connection has listed.
func (c *Connection) tools() map[string]bool {
	names := map[string]bool{}
	for _, item := range c.listing.lists[catalog.Tools] {
		name, _ := jsonedit.GetString(item, "name")
		names[name] = true
	}
	return names
}
