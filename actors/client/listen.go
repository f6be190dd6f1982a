package client

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/notification"
	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/protocol/subscription"
	"mcpd/supervisor/otp"
)

// MaxListens bounds the subscriptions of one connection to a modern server: one for its lists, and one for each resource. Over HTTP each
// holds a response open.
const MaxListens = 129

// Pauses before a subscription is opened again that the server has ended.
const (
	FirstListen = 100 * time.Millisecond
	LastListen  = 30 * time.Second
)

// listen is a subscription of ours to a modern server (2026-07-28 §basic/patterns/subscriptions). There is one for the lists and one for
// each resource, which never have anything in common: some servers take a second subscription to the same for a replacement.
type listen struct {
	uri    string              // of the resource; empty for the lists
	filter subscription.Filter // asked for
	acked  bool
	then   []func(error) // are told once whether the server agreed
	timer  otp.Timer
	pace   pace
}

// relisten says that the pause before a subscription is opened again is over.
type relisten struct{ l *listen }

// lateAck says that a server has not confirmed a subscription in time.
type lateAck struct{ l *listen }

// listenLists subscribes to the changes of every list that the server announces.
func (c *Connection) listenLists() {
	f := subscription.Filter{Tools: true, Prompts: true, Resources: true}.Grant(c.facts.Capabilities)
	if len(f.Topics("")) > 0 {
		c.openListen(newListen("", f))
	}
}

func newListen(uri string, f subscription.Filter) *listen {
	return &listen{uri: uri, filter: f, pace: pace{first: FirstListen, last: LastListen}}
}

// listenTo subscribes to a resource. Then is told what the server thinks of it.
func (c *Connection) listenTo(uri string, then func(error)) {
	for _, l := range c.listens {
		if l.uri == uri && !l.acked {
			l.then = append(l.then, then)
			return
		}
	}
	if len(c.listens) >= MaxListens {
		then(protocol.Overloaded("subscriptions to server "+c.o.Server, 0))
		return
	}
	if !c.facts.Capabilities.Has("resources.subscribe") {
		then(protocol.CapabilityNotSupported("resources.subscribe"))
		return
	}
	l := newListen(uri, subscription.Filter{URIs: []string{uri}})
	l.then = append(l.then, then)
	c.openListen(l)
}

// openListen sends one subscription.
func (c *Connection) openListen(l *listen) {
	l.acked = false
	id, err := c.ask("subscriptions/listen", l.filter.Params(), 0, func(_ jsontext.Value, err error) error {
		c.listenEnded(l, err)
		return nil
	})
	if err != nil {
		c.settleListen(l, err)
		return
	}
	c.listens[id] = l
	l.timer = c.p.After(c.o.RequestTimeout, lateAck{l})
}

// acknowledged takes what a server agreed to.
func (c *Connection) acknowledged(m jsonrpc.Message) {
	l := c.listens[subscriptionOf(m.Params)]
	if l == nil {
		return
	}
	l.timer.Stop()
	l.acked = true
	granted, err := subscription.ParseFilter(m.Params)
	if err == nil && l.uri != "" && len(granted.URIs) == 0 {
		c.unlisten(l)
		err = protocol.ResourceNotFound(l.uri)
	}
	c.settleListen(l, err)
}

// subscriptionOf is the subscription that a notification came on.
func subscriptionOf(params jsontext.Value) jsonrpc.ID {
	raw, _ := splice.Get(params, "_meta", protocol.MetaSubscriptionID)
	id, _ := jsonrpc.ParseID(raw) // none is no subscription's
	return id
}

func (c *Connection) settleListen(l *listen, err error) {
	waiting := l.then
	l.then = nil
	for _, then := range waiting {
		then(err)
	}
}

// listenEnded opens a subscription again that ended without our doing. What changed meanwhile was not told, so it counts as changed. A
// server that does not know the method, or refused what it was asked, is left alone.
func (c *Connection) listenEnded(l *listen, err error) {
	c.forgetListen(l)
	l.timer.Stop()
	if !l.acked {
		if err == nil {
			err = protocol.ResourceNotFound(l.uri)
		}
		c.settleListen(l, err)
		if l.uri != "" || protocol.ConditionOf(err) != protocol.ConditionUpstreamLost {
			return
		}
	}
	c.listenLater(l)
}

// listenLater opens a subscription again when it is time.
func (c *Connection) listenLater(l *listen) {
	wait := l.pace.next(c.p.Now())
	l.pace.did(c.p.Now().Add(wait))
	c.p.After(wait, relisten{l})
}

// lateAck gives up on a server that does not confirm. Its lists are listened for again.
func (c *Connection) lateAck(l *listen) {
	if l.acked {
		return
	}
	c.unlisten(l)
	c.settleListen(l, protocol.Timeout(c.o.RequestTimeout))
	if l.uri == "" {
		c.listenLater(l)
	}
}

// listenAgain opens it, and tells what may have changed.
func (c *Connection) listenAgain(l *listen) {
	if c.state != Ready || l.uri != "" && !c.subscribed(l.uri) {
		return
	}
	c.openListen(l)
	if l.uri != "" {
		params, _ := splice.Set(nil, splice.Quote(l.uri), "uri") // an empty value becomes an object
		_ = c.o.Dispatcher.Send(&notification.Dispatch{
			Server: c.o.Server, Key: c.o.Key, Method: "notifications/resources/updated", URI: l.uri, Params: params,
		})
		return
	}
	for _, k := range catalog.Kinds() {
		if l.filter.Wants(k.Changed()) {
			c.changed(k)
		}
	}
}

// unlistenTo ends the subscription to a resource.
func (c *Connection) unlistenTo(uri string) {
	for _, l := range c.listens {
		if l.uri == uri && uri != "" {
			c.unlisten(l)
		}
	}
}

// unlisten ends a subscription from here.
func (c *Connection) unlisten(l *listen) {
	id, ok := c.forgetListen(l)
	if !ok {
		return
	}
	l.timer.Stop()
	delete(c.asked, id)
	c.send(jsonrpc.Notification("notifications/cancelled", cancelled(id, "nobody listens any more")))
}

func (c *Connection) forgetListen(l *listen) (jsonrpc.ID, bool) {
	for id, other := range c.listens {
		if other == l {
			delete(c.listens, id)
			return id, true
		}
	}
	return jsonrpc.ID{}, false
}
