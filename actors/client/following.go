package client

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/splice"
	"mcpd/protocol/subscription"
)

// follow asks the server to tell of a resource, or not any more, on behalf of sessions that do not wait for it themselves.
func (c *Connection) follow(uri string, wanted bool) {
	_, ofExtensions := subscription.Named(uri)
	switch {
	case ofExtensions && !c.facts.Version.Has(protocol.Listen): // the server is another by now
	case c.facts.Version.Has(protocol.Listen) && wanted:
		c.asides++
		c.listenTo(uri, func(error) {
			c.asides--
			c.grant()
		})
	case c.facts.Version.Has(protocol.Listen):
		c.unlistenTo(uri)
	case c.following[uri] == nil:
		c.following[uri] = &following{}
		method := map[bool]string{true: "resources/subscribe", false: "resources/unsubscribe"}[wanted]
		c.askAside(method, "uri", uri, func(err error) { c.followed(uri, wanted, err) })
	}
}

// following is a resource of which the server is being told that it is wanted, or is not any more. There is one such request at a time, as
// two over HTTP may overtake each other.
type following struct {
	then []func(error) // are told once whether the server agreed
}

// followed goes on when the server has answered: meanwhile it may be that the contrary is wanted.
func (c *Connection) followed(uri string, wanted bool, err error) {
	f, now := c.following[uri], len(c.uris[uri]) > 0
	delete(c.following, uri)
	if now && !wanted {
		c.follow(uri, true)
		c.following[uri].then = f.then
		return
	}
	for _, then := range f.then {
		then(err)
	}
	if !now && wanted {
		c.follow(uri, false)
	}
}

// resubscribe takes a subscription to a resource that the server is being told is not wanted.
func (c *Connection) resubscribe(x *request.Exchange) (taken bool) {
	if x.Method != "resources/subscribe" {
		return false
	}
	uri, _ := splice.GetString(x.Params, "uri")
	f := c.following[uri]
	if f == nil {
		return false
	}
	done, local := c.subscribe(x)
	if local {
		complete(x, jsontext.Value("{}"), nil)
		return true
	}
	f.then = append(f.then, c.answering(x, done))
	return true
}

// answering is what to do when a subscription is answered that is not a call of its own.
func (c *Connection) answering(x *request.Exchange, done func(error)) func(error) {
	c.written.Add(x)
	return func(err error) {
		done(err)
		if c.written.Remove(x) { // not withdrawn meanwhile
			complete(x, jsontext.Value("{}"), err)
		}
	}
}
