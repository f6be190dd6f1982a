package client

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/notification"
	"mcpd/actors/request"
	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rewrite"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// inbound handles one thing that the transport has read.
func (c *Connection) inbound(in transport.Inbound) error {
	if in.Err != nil {
		return c.failed(in)
	}
	if in.Control != nil {
		return c.control(in)
	}
	m := in.Message
	switch m.Kind() {
	case jsonrpc.KindRequest:
		c.recordActivity(c.calls.get(in.RequestID))
		c.question(in)
	case jsonrpc.KindNotification:
		c.recordActivity(c.calls.get(in.RequestID))
		c.notified(in)
	default:
		return c.response(m)
	}
	return nil
}

// unowned is the reason for dropping a message of a server that belongs to nobody, or may belong to
// one of several callers.
const unowned = "unowned"

// notified routes one notification: to the call that it belongs to if there is one, to subscribers
// otherwise.
func (c *Connection) notified(in transport.Inbound) {
	m := in.Message
	switch m.Method {
	case "notifications/progress":
		c.progress(m)
	case "notifications/cancelled":
		c.withdrawn(m)
	case "notifications/tasks/status":
		c.taskStatus(m.Params)
	// Its ids are unknown to clients, and the actor that keeps a task asks for its status.
	case "notifications/tasks":
	case "notifications/subscriptions/acknowledged":
		c.acknowledged(m)
	case completes:
		c.completed(m)
	case "notifications/message":
		c.logged(in)
	default:
		if !protocol.IsKnownMethod(m.Method) {
			c.passExtension(in)
			return
		}
		lists := catalog.ChangedKinds(m.Method)
		if len(lists) == 0 {
			if !c.awaits(m) {
				c.undelivered(m.Method, "unsubscribed")
				return
			}
			c.dispatch(m, allSessions)
		}
		_ = c.stepLists(func(s *listStep) { s.announced(lists) })
	}
}

// awaits reports whether an update is of a resource that the server was asked over this connection
// to announce, or of a resource below one. Some servers announce every resource to each of their
// sessions: clients that want to be told are told over the connection that is subscribed.
func (c *Connection) awaits(m jsonrpc.Message) bool {
	if m.Method != "notifications/resources/updated" || c.facts.Version.Has(protocol.Listen) {
		return true
	}
	uri, _ := jsonedit.GetString(m.Params, "uri")
	return c.interest.Awaits(uri)
}

// logged passes a log line on to its owner. A line that may be about calls of several principals is
// dropped and counted.
func (c *Connection) logged(in transport.Inbound) {
	m := in.Message
	if c.greeting() {
		c.holdLine(in)
		return
	}
	if !in.RequestID.IsZero() {
		c.lines.together = true
	}
	switch to := c.audience(in.RequestID); {
	case to.call != nil:
		if c.wantsLog(to.call, m.Params) {
			c.p.Check()
			_ = to.call.Sink.Send(m)
		}
	case to.sharing:
		c.dispatch(m, to)
	default:
		c.undelivered(m.Method, unowned)
	}
}

// dispatch hands a notification to the tenant's dispatcher, if the server had declared that it
// would send such notifications (S1-16).
func (c *Connection) dispatch(m jsonrpc.Message, to audience) {
	if err := c.gate().Check(protocol.Server, m.Method, m.Params); err != nil {
		c.undelivered(m.Method, "undeclared")
		return
	}
	params := m.Params
	if c.facts.Version.Era() == protocol.Modern { // listeners have subscriptions of their own
		var err error
		if params, err = rewrite.Notification(m.Method, c.facts.Version, protocol.LatestLegacy,
			params); err != nil {
			return
		}
	}
	c.notice(m, params, to)
}

// notice hands the dispatcher a notification with these params.
func (c *Connection) notice(m jsonrpc.Message, params jsontext.Value, to audience) {
	n := &notification.Dispatch{
		Server: c.o.Server, Key: c.o.Key.First(), Method: m.Method, Params: params,
		Session: to.session, Principal: to.principal, Era: to.era, Instance: c.number(),
	}
	if n.URI = to.filter; n.URI == "" {
		n.URI, _ = jsonedit.GetString(m.Params, "uri")
	}
	if c.p.Send(c.o.Dispatcher, n) != nil {
		c.undelivered(m.Method, "queue_full")
	}
}

// number returns the number of this instance for the dispatcher, from 1, or 0 if there is no other
// instance.
func (c *Connection) number() uint8 {
	if c.o.Key.Instance == 0 && c.instances.Len() == 0 {
		return 0
	}
	return c.o.Key.Instance + 1
}

// gate returns what was agreed with this server: the revision, and the capabilities of both sides.
func (c *Connection) gate() protocol.Gate {
	return protocol.Gate{
		Version: c.facts.Version, Client: c.toldCapabilities, Server: c.facts.Capabilities,
	}
}

// wantsLog filters log lines by the level that was asked for. A session that asked for none gets
// what the server sends; a stateless request that asked for none gets nothing.
func (c *Connection) wantsLog(x *request.Exchange, params jsontext.Value) bool {
	if f, ok := x.Sink.(interface{ Filters() bool }); ok && f.Filters() {
		return true
	}
	want := c.logLevel(x)
	if want == "" {
		return !x.Version.Has(protocol.PerRequestMeta)
	}
	level, _ := jsonedit.GetString(params, "level")
	return protocol.AtLeast(level, want)
}

// control handles what the transport says of itself.
func (c *Connection) control(in transport.Inbound) error {
	switch m := in.Control.(type) {
	case transport.CloseStream:
		if x := c.audience(in.RequestID).call; x != nil {
			if r, ok := x.Sink.(streamable.Reconnector); ok {
				r.CloseStream(m.Retry)
			}
		}
	case streamable.StandaloneState:
		c.standingStream(m)
	case streamable.Undelivered:
		c.answerRefused(m)
	case streamable.Unreached:
		return c.away(m.Err, false)
	}
	return nil
}
