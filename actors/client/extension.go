package client

import (
	"errors"
	"strings"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rewrite"
	"mcpd/protocol/subscription"
	"mcpd/transport"
)

// Extensions that a client and its server have both declared have methods of which this host knows
// nothing. Their calls are handled like other calls, and so are the server's questions. Their
// notifications name no client, and are handled here. Servers also send notifications that belong
// to nothing they declared, which nobody minds on a direct connection: these pass between ends of
// one era.

// MaxClientNotifications bounds the notifications of clients that wait until a server is ready.
const MaxClientNotifications = 64

// passExtension passes a notification that MCP does not define on to its owner, as a log line. A
// notification that may be about calls of several principals is dropped and counted.
func (c *Connection) passExtension(in transport.Inbound) {
	m := in.Message
	if m.Params.Kind() == '[' {
		c.undelivered(m.Method, "invalid")
		return
	}
	if c.gate().Check(protocol.Server, m.Method, m.Params) != nil {
		c.passUndeclared(in)
		return
	}
	l := c.listens[subscriptionOf(m.Params)]
	if l == nil {
		l = c.listens[in.RequestID]
	}
	if l != nil && strings.HasPrefix(l.uri, subscription.ExtensionPrefix) { // listeners receive it
		c.dispatch(m, audience{sharing: true, filter: l.uri})
		return
	}
	switch to := c.owner(in.RequestID); {
	case to.call != nil && to.call.Extended:
		c.notify(to.call, m)
	case to.sharing:
		c.dispatch(m, to)
	default:
		c.undelivered(m.Method, unowned)
	}
}

// passUndeclared passes on a notification of no extension that both ends declared. It goes to
// clients that see the server as it is and speak a revision of the same era.
func (c *Connection) passUndeclared(in transport.Inbound) {
	m, era := in.Message, c.facts.Version.Era()
	switch to := c.owner(in.RequestID); {
	case len(c.clients) == 0 && c.calls.len() == 0 && !c.served.any:
		c.undelivered(m.Method, "undeclared")
	case to.call != nil && to.call.Transparent && to.call.Version.Era() == era:
		c.notify(to.call, m)
	case to.call != nil || !to.sharing || to == allSessions && c.several():
		c.undelivered(m.Method, unowned)
	default:
		if session, _, only := c.onlySession(); only && to.session == "" {
			to.session = session
		}
		to.era = era
		c.notice(m, m.Params, to)
	}
}

// notify sends a notification to the client of a call in flight, before the call's answer.
func (c *Connection) notify(x *request.Exchange, m jsonrpc.Message) {
	params, err := rewrite.Notification(m.Method, c.facts.Version, x.Version, m.Params)
	if err != nil {
		c.undelivered(m.Method, "invalid")
		return
	}
	c.p.Check()
	if x.Sink.Send(jsonrpc.Notification(m.Method, params)) != nil {
		c.undelivered(m.Method, "slow_consumer")
	}
}

// several reports whether sessions of more than one principal use the connection.
func (c *Connection) several() bool {
	users := servedPrincipals{}
	for _, u := range c.clients {
		users.add(u.Principal)
	}
	return users.several
}

// forwardNotification passes a client's notification on, if the server can understand it. A
// notification of an extension waits until the server is ready. Other announcements of a client are
// made anew to a server that starts.
func (c *Connection) forwardNotification(m *ClientNotification) {
	switch {
	case c.state == Ready:
		c.writeNotification(m)
	case protocol.IsKnownMethod(m.Method):
		m.Kept.Release()
	case len(c.pendingNotifications) >= MaxClientNotifications:
		m.Kept.Release()
		c.undelivered(m.Method, "queue_full")
	default:
		c.pendingNotifications = append(c.pendingNotifications, m)
		c.wake()
	}
}

// writeNotification writes a client's notification.
func (c *Connection) writeNotification(m *ClientNotification) {
	defer m.Kept.Release()
	params := m.Params
	if m.From != 0 {
		if m.From.Era() != c.facts.Version.Era() && !c.gate().SharesExtension() {
			c.undelivered(m.Method, "undeclared")
			return
		}
		var err error
		if params, err = rewrite.Request(m.Method, m.From, c.facts.Version, params); err != nil {
			c.undelivered(m.Method, "invalid")
			return
		}
	}
	if errors.Is(c.put(jsonrpc.Notification(m.Method, params)), transport.ErrSlowConsumer) {
		c.undelivered(m.Method, "slow_consumer")
	}
}

// writeNotifications writes the notifications that have waited for the server.
func (c *Connection) writeNotifications() {
	all := c.pendingNotifications
	c.pendingNotifications = nil
	for _, m := range all {
		c.writeNotification(m)
	}
}

// dropNotifications releases the notifications that no server will get.
func (c *carriedState) dropNotifications() {
	for _, m := range c.pendingNotifications {
		m.Kept.Release()
	}
	c.pendingNotifications = nil
}
