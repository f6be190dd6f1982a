package client

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client/internal/interest"
	"mcpd/actors/notification"
	"mcpd/gateway/catalog"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/subscription"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

// MaxListens bounds the subscriptions of one connection to a modern server: one for its lists, and
// one for each resource. Over HTTP each holds a response open.
const MaxListens = 129

// Pauses before a subscription that the server has ended is opened again.
const (
	FirstListen = 100 * time.Millisecond
	LastListen  = 30 * time.Second
)

// LeaveTime is how long a server on a pipe has to answer a subscription that was ended from here. A
// server that follows the specification never answers it. A server that answers all the same is
// done with the subscription only then (see renewLists).
const LeaveTime = time.Second

// listenSubscription is a subscription of ours to a modern server (2026-07-28
// §basic/patterns/subscriptions). There is one for the lists and one for each resource. They never
// have anything in common, because some servers take a second subscription to the same thing for a
// replacement of the first.
type listenSubscription struct {
	id jsonrpc.ID // ours, while it is in Connection.listens
	// uri is that of the resource, or the name of a filter of extensions; empty for the lists.
	uri     string
	filter  subscription.Filter // the filter that is asked for
	acked   bool
	missed  bool          // clients were not told what changed since it was wanted or in force
	leaving bool          // ended from here, and the server may not be done with it
	then    []func(error) // called once with nil, or why the server did not agree
	timer   otp.Timer
	backoff backoff
}

// reopenListenDue says that the pause before a subscription is opened again is over.
type reopenListenDue struct {
	l       *listenSubscription
	attempt uint64 // of the server that it was made to
}

// ackTimeout says that a server has not confirmed a subscription, or its end, in time.
type ackTimeout struct{ id jsonrpc.ID }

// listenLists subscribes to the changes of every list that the server announces.
func (c *Connection) listenLists() {
	f := subscription.Filter{Tools: true, Prompts: true, Resources: true}.Grant(c.facts.Capabilities)
	if len(f.Topics("")) > 0 {
		c.openListen(newListen("", f))
	}
}

func newListen(uri string, f subscription.Filter) *listenSubscription {
	return &listenSubscription{
		uri: uri, filter: f, backoff: backoff{first: FirstListen, last: LastListen},
	}
}

// listenTo subscribes to a resource. If an earlier subscription to it is being opened or ended, the
// new one waits for that. Then is called with nil, or with the reason why the server did not agree.
// If sessions count as subscribed all the same, the subscription is opened again until it is in
// force.
func (c *Connection) listenTo(uri string, then func(error)) {
	for _, l := range sortedmap.SortedBy(c.listens, jsonrpc.ID.Compare) {
		if l.uri == uri && !l.acked {
			l.then = append(l.then, then)
			return
		}
	}
	f, ofExtensions := subscription.FilterFromName(uri)
	if !ofExtensions {
		f.URIs = []string{uri}
	}
	if !ofExtensions && !c.facts.Capabilities.Has("resources.subscribe") {
		then(protocol.CapabilityNotSupported("resources.subscribe"))
		return
	}
	l := newListen(uri, f)
	l.then = append(l.then, then)
	c.openListen(l)
}

// openListen sends one subscription, if there is room for one more.
func (c *Connection) openListen(l *listenSubscription) {
	l.acked = false
	if l.uri != "" && c.resourceListens() >= MaxListens-1 {
		c.openFailed(l, protocol.Overloaded("subscription table of server "+c.o.Server, 0))
		return
	}
	id, err := c.ask("subscriptions/listen", l.filter.Params(), 0,
		func(_ jsontext.Value, err error) error {
			c.listenEnded(l, err)
			return nil
		})
	if err != nil {
		c.openFailed(l, err)
		return
	}
	l.id, c.listens[id] = id, l
	l.timer = c.p.After(c.o.RequestTimeout(), ackTimeout{id})
}

// acknowledged handles what a server has agreed to.
func (c *Connection) acknowledged(m jsonrpc.Message) {
	l := c.listens[subscriptionOf(m.Params)]
	if l == nil || l.leaving {
		return
	}
	l.timer.Stop()
	l.acked = true
	granted, err := subscription.ParseFilter(m.Params)
	if err == nil && l.uri != "" && len(granted.URIs)+len(granted.Extensions) == 0 {
		c.settleListen(l, protocol.NotAnnounced(l.uri))
		c.unlisten(l)
		return
	}
	c.settleListen(l, err)
	if err == nil {
		c.notGranted(l, granted)
	}
	if l.missed {
		c.missed(l)
	}
}

// notGranted stops offering the changes of lists that the server was asked to announce and did not
// grant: clients would be told of none, as with a legacy server without a stream (see standing).
func (c *Connection) notGranted(l *listenSubscription, granted subscription.Filter) {
	var unheard []string
	for _, list := range []struct {
		path            string
		wanted, granted bool
	}{
		{"tools.listChanged", l.filter.Tools, granted.Tools},
		{"prompts.listChanged", l.filter.Prompts, granted.Prompts},
		{"resources.listChanged", l.filter.Resources, granted.Resources},
	} {
		if list.wanted && !list.granted {
			unheard = append(unheard, list.path)
		}
	}
	if len(unheard) == 0 {
		return
	}
	c.facts.Capabilities = c.facts.Capabilities.Without(unheard...)
	if c.state == Ready {
		c.publish(nil, nil)
	}
}

// subscriptionOf returns the id of the subscription that a notification came on.
func subscriptionOf(params jsontext.Value) jsonrpc.ID {
	raw, _ := jsonedit.Get(params, "_meta", protocol.MetaSubscriptionID)
	id, _ := jsonrpc.ParseID(raw) // an invalid id is no subscription's
	return id
}

func (c *Connection) settleListen(l *listenSubscription, err error) {
	waiting := l.then
	l.then = nil
	for _, then := range waiting {
		then(err)
	}
}

// listenEnded opens a subscription again that ended without our doing. Changes in between were not
// announced, so everything counts as changed.
func (c *Connection) listenEnded(l *listenSubscription, err error) {
	if l.leaving {
		c.left(l)
		return
	}
	c.forgetListen(l)
	c.renewLists(l)
	if l.acked {
		c.listenLater(l)
	} else {
		c.openFailed(l, err)
	}
}

// openFailed handles a subscription that could not be opened; without err the server has ended it
// before it granted anything. If sessions count as subscribed, it is opened again after its pause,
// since no message would tell them that they are not. So is the subscription to lists, unless the
// server has refused it. A server that does not know the method is not asked again.
func (c *Connection) openFailed(l *listenSubscription, err error) {
	_, refused := errors.AsType[*jsonrpc.Error](err)
	unknown := unknownListen(err)
	if err == nil || refused || unknown {
		c.notGranted(l, subscription.Filter{})
	}
	lists := l.uri == "" && err != nil && !refused
	if err == nil {
		err = protocol.NotAnnounced(l.uri)
	}
	c.settleListen(l, err)
	if !unknown && (lists || c.interest.Agreed(l.uri)) {
		c.listenLater(l)
	}
}

// unknownListen reports whether the server does not know the method of subscriptions.
func unknownListen(err error) bool {
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return refused.Code == jsonrpc.CodeMethodNotFound
	}
	status, ok := errors.AsType[*streamable.StatusError](err)
	return ok && status.Unsupported()
}

// listenLater opens a subscription again after its pause.
func (c *Connection) listenLater(l *listenSubscription) {
	wait := l.backoff.next(c.p.Now())
	l.backoff.record(c.p.Now().Add(wait))
	c.paused[l.uri] = l
	c.p.After(wait, reopenListenDue{l, c.attempt})
}

// ackTimedOut gives up on a server that does not confirm.
func (c *Connection) ackTimedOut(l *listenSubscription) {
	switch {
	case l == nil, l.acked:
	case l.leaving:
		c.left(l)
	default:
		c.settleListen(l, protocol.Timeout(c.o.RequestTimeout()))
		c.notGranted(l, subscription.Filter{})
		c.unlisten(l)
	}
}

// listenAgain opens a subscription after its pause, if its server is still there and nobody has
// subscribed to the same thing meanwhile. While the server is away, it waits for the server.
func (c *Connection) listenAgain(m reopenListenDue) {
	l := m.l
	if m.attempt != c.attempt || c.paused[l.uri] != l { // another has taken its place
		return
	}
	switch {
	case l.uri != "" && !c.interest.Agreed(l.uri), c.listensTo(l.uri):
		delete(c.paused, l.uri)
	case c.state != Ready:
		c.waitingListens = append(c.waitingListens, m)
	default:
		delete(c.paused, l.uri)
		l.missed = true
		c.openListen(l)
	}
}

// listenNow opens the subscriptions that have waited for the server.
func (c *Connection) listenNow() {
	waiting := c.waitingListens
	c.waitingListens = nil
	for _, m := range waiting {
		c.listenAgain(m)
	}
}

// resourceListens counts the subscriptions to resources.
func (c *Connection) resourceListens() (n int) {
	for _, l := range c.listens {
		if l.uri != "" {
			n++
		}
	}
	return n
}

func (c *Connection) listensTo(uri string) bool {
	for _, l := range c.listens {
		if l.uri == uri {
			return true
		}
	}
	return false
}

// missed tells clients what may have changed while a subscription was not in force.
func (c *Connection) missed(l *listenSubscription) {
	l.missed = false
	if l.uri != "" {
		c.updated(l.uri)
		return
	}
	for _, k := range catalog.Kinds() {
		if l.filter.Wants(k.Changed()) {
			c.changed(k)
		}
	}
}

// missedOn tells clients that a resource may have changed while it was not subscribed to. If its
// subscription is not in force yet, they are told once it is.
func (c *Connection) missedOn(e interest.Effect) {
	for _, l := range c.listens {
		if l.uri == e.URI && !l.acked {
			l.missed = l.missed || e.Missed || e.Do == interest.Missed
			return
		}
	}
	if e.Do == interest.Missed {
		c.updatedTo(e.URI, e.Session)
	}
}

// updated tells the sessions that want to be told of a resource that it may have changed.
func (c *Connection) updated(uri string) { c.updatedTo(uri, "") }

// updatedTo is updated for one session; empty is for all.
func (c *Connection) updatedTo(uri, session string) {
	if _, ok := subscription.FilterFromName(uri); ok { // the meaning of the filter is not known here
		return
	}
	params, _ := jsonedit.Set(nil, jsonedit.Quote(uri), "uri") // an empty value becomes an object
	_ = c.p.Send(c.o.Dispatcher, &notification.Dispatch{
		Server: c.o.Server, Key: c.o.Key.First(), Method: "notifications/resources/updated", URI: uri,
		Session: session, Params: params,
	})
}

// unlistenTo ends the subscription to a resource.
func (c *Connection) unlistenTo(uri string) {
	for _, l := range sortedmap.SortedBy(c.listens, jsonrpc.ID.Compare) {
		if l.uri == uri && uri != "" {
			c.settleListen(l, nil) // the sessions that waited have given it up
			c.unlisten(l)
		}
	}
}

// unlisten ends a subscription from our side.
func (c *Connection) unlisten(l *listenSubscription) {
	if c.listens[l.id] != l || l.leaving {
		return
	}
	l.timer.Stop()
	l.acked, l.leaving = false, true
	c.send(jsonrpc.Notification("notifications/cancelled",
		cancelled(l.id, "no client listens any more")))
	if c.piped() {
		l.timer = c.p.After(LeaveTime, ackTimeout{l.id})
	} else {
		c.left(l)
	}
}

// left handles the end of a subscription that was ended from here. It opens the subscription to
// lists again, and one to a resource that a session wants meanwhile, or still counts as subscribed
// to.
func (c *Connection) left(l *listenSubscription) {
	c.forgetListen(l)
	c.renewLists(l)
	switch {
	case l.uri == "":
		c.listenLater(l)
	case len(l.then) > 0:
		c.openListen(l)
	case c.interest.Agreed(l.uri):
		c.listenLater(l)
	}
}

// renewLists opens the subscription to lists anew after a subscription to a resource has ended on a
// pipe. A server of the Go SDK (1.8.0) has one subscription to lists in a session, and a pipe is
// one session. It forgets that subscription when any subscription ends.
func (c *Connection) renewLists(ended *listenSubscription) {
	if ended.uri == "" || !c.piped() {
		return
	}
	for _, l := range sortedmap.SortedBy(c.listens, jsonrpc.ID.Compare) {
		if l.uri == "" {
			c.unlisten(l)
		}
	}
}

// piped reports whether the server is on a pipe, where everything belongs to one session.
func (c *Connection) piped() bool { return c.info().URL == "" }

func (c *Connection) forgetListen(l *listenSubscription) {
	l.timer.Stop()
	l.leaving = false
	if c.listens[l.id] == l {
		delete(c.listens, l.id)
		delete(c.asked, l.id)
	}
}
