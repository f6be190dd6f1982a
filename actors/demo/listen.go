package demo

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/subscription"
)

// maxListens bounds the listens of a connection, which each change costs a message. One that shares the connection needs one.
const maxListens = 64

// listen is a subscriptions/listen that has not ended.
type listen struct {
	id      jsonrpc.ID
	version protocol.Version
	topics  []subscription.Topic
}

// beginListen acknowledges what of the filter can be honoured: what is declared, of resources those that are listed, since what a
// template makes never changes, and of tasks those that there are (2026-07-28 §basic/patterns/subscriptions).
func beginListen(c *core, r request) ([]effect, error) {
	filter, err := subscription.ParseFilter(r.params)
	switch {
	case err != nil:
		return nil, err
	case len(filter.Tasks) > 0 && !r.client.Has(tasksCapability):
		return nil, protocol.CapabilityRequired(tasksCapability)
	case c.byID[r.id] != nil || c.listening(r.id):
		return nil, protocol.RequestIDConflict(r.id)
	case len(c.listens) >= maxListens:
		return nil, protocol.Overloaded("server demo", 0)
	}
	filter = filter.Grant(offered(r.version))
	filter.URIs = slices.DeleteFunc(filter.URIs, func(uri string) bool {
		_, ok := findResource(uri)
		return !ok
	})
	filter.Tasks = slices.DeleteFunc(filter.Tasks, func(id string) bool {
		return !slices.ContainsFunc(c.tasks, func(t *task) bool { return t.id == id })
	})
	l := listen{r.id, r.version, filter.Topics("")}
	c.listens = append(c.listens, l)
	return []effect{l.tell("notifications/subscriptions/acknowledged", object{"notifications": filter.Notifications()})}, nil
}

// announce tells everybody who wants to know: each listen that covers the topic and, if it subscribed in its own way, the legacy session.
func (c *core) announce(topic subscription.Topic, params object, session bool) (effects []effect) {
	if session {
		var raw jsontext.Value
		if params != nil {
			raw = encode(params)
		}
		// Not tied to a call: the session is older and lasts longer.
		effects = append(effects, send{message: jsonrpc.Notification(topic.Method, raw)})
	}
	for _, l := range c.listens {
		if slices.Contains(l.topics, topic) {
			effects = append(effects, l.tell(topic.Method, params))
		}
	}
	return effects
}

// tell makes a notification of the listen, by whose id the client knows what it is for.
func (l listen) tell(method string, params object) effect {
	tagged := set(encode(params), l.id.Raw(), "_meta", protocol.MetaSubscriptionID)
	return send{jsonrpc.Notification(method, tagged), l.id}
}

func (c *core) listening(id jsonrpc.ID) bool {
	return slices.ContainsFunc(c.listens, func(l listen) bool { return l.id == id })
}

// unlisten ends a listen that the client cancelled. Nothing more may be said about it.
func (c *core) unlisten(id jsonrpc.ID) {
	c.listens = slices.DeleteFunc(c.listens, func(l listen) bool { return l.id == id })
}

// endListens ends all of them in good order: with the result that §basic/patterns/subscriptions wants, and the notification that
// §basic/patterns/cancellation wants where there is no stream to close.
func (c *core) endListens() (effects []effect) {
	for _, l := range c.listens {
		result := c.signed(set(jsontext.Value(`{"resultType":"complete"}`), l.id.Raw(), "_meta", protocol.MetaSubscriptionID))
		effects = append(effects,
			send{jsonrpc.Response(l.id, result), l.id},
			l.tell("notifications/cancelled", object{"requestId": jsontext.Value(l.id.Raw()), "reason": "the server stops"}))
	}
	c.listens = nil
	return effects
}
