package demo

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/subscription"
)

// maxListens bounds the subscriptions of a connection. Each of them costs a message for each
// change, and a client needs only one.
const maxListens = 64

// listen is an open subscriptions/listen.
type listen struct {
	id      jsonrpc.ID
	version protocol.Version
	topics  []subscription.Topic
}

// beginListen acknowledges the part of the filter that the server can honour: declared
// notifications, listed resources, and existing tasks (2026-07-28 §basic/patterns/subscriptions).
// Resources made from a template are excluded, because they never change.
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
	return []effect{l.tell("notifications/subscriptions/acknowledged",
		object{"notifications": filter.Notifications()})}, nil
}

// announce sends a notification to each listen that covers the topic. If session is true, it also
// sends it to the legacy session.
func (c *core) announce(topic subscription.Topic, params object, session bool) (effects []effect) {
	if session {
		var raw jsontext.Value
		if params != nil {
			raw = encode(params)
		}
		// not related to a call: the session outlives every call
		effects = append(effects, send{message: jsonrpc.Notification(topic.Method, raw)})
	}
	for _, l := range c.listens {
		if slices.Contains(l.topics, topic) {
			effects = append(effects, l.tell(topic.Method, params))
		}
	}
	return effects
}

// tell makes a notification of the listen, tagged with its id.
func (l listen) tell(method string, params object) effect {
	tagged := set(encode(params), l.id.Raw(), "_meta", protocol.MetaSubscriptionID)
	return send{jsonrpc.Notification(method, tagged), l.id}
}

func (c *core) listening(id jsonrpc.ID) bool {
	return slices.ContainsFunc(c.listens, func(l listen) bool { return l.id == id })
}

// unlisten ends a listen that the client cancelled. No more messages may be sent for it.
func (c *core) unlisten(id jsonrpc.ID) {
	c.listens = slices.DeleteFunc(c.listens, func(l listen) bool { return l.id == id })
}

// endListens ends all of them properly: with the result that §basic/patterns/subscriptions
// requires, and the notification that §basic/patterns/cancellation requires where there is no
// stream to close.
func (c *core) endListens() (effects []effect) {
	for _, l := range c.listens {
		result := c.signed(set(jsontext.Value(`{"resultType":"complete"}`), l.id.Raw(), "_meta",
			protocol.MetaSubscriptionID))
		effects = append(effects,
			send{jsonrpc.Response(l.id, result), l.id},
			l.tell("notifications/cancelled", object{
				"requestId": jsontext.Value(l.id.Raw()), "reason": "the server stops",
			}))
	}
	c.listens = nil
	return effects
}
