package client

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// intercept looks at the calls that change what a server sends unasked, because several sessions
// may share the connection. It reports local when the server need not hear of the call; otherwise
// done, if any, is told how the server answered.
func (c *Connection) intercept(x *request.Exchange) (done func(error), local bool) {
	switch x.Method {
	case "resources/subscribe":
		return c.subscribe(x)
	case "resources/unsubscribe":
		return c.unsubscribe(x)
	}
	return nil, false
}

// listening takes the same calls to a modern server, which has subscriptions of another kind.
func (c *Connection) listening(x *request.Exchange) (taken bool) {
	if !c.facts.Version.Has(protocol.Listen) ||
		x.Method != "resources/subscribe" && x.Method != "resources/unsubscribe" {
		return false
	}
	done, local := c.intercept(x)
	uri, ok := splice.GetString(x.Params, "uri")
	switch {
	case !ok:
		complete(x,
			nil,
			protocol.InvalidParams("params.uri is missing or not a string"),
		)
	case local:
		complete(x, jsontext.Value("{}"), nil)
	case x.Method == "resources/unsubscribe":
		c.unlistenTo(uri)
		complete(x, jsontext.Value("{}"), nil)
	default:
		c.listenTo(uri, c.answering(x, done))
	}
	return true
}

func (c *Connection) subscribe(x *request.Exchange) (func(error), bool) {
	uri, ok := splice.GetString(x.Params, "uri")
	if !ok {
		return nil, false // the server says what is wrong
	}
	if c.subscribed(uri) {
		c.uris[uri][x.Session] = true
		return nil, true
	}
	// from now on, so that another's unsubscribe does not take it away
	c.subscribeFor(uri, x.Session, false)
	return func(err error) {
		switch agreed, ok := c.uris[uri][x.Session]; {
		case !ok: // it has let go meanwhile
		case err == nil:
			c.uris[uri][x.Session] = true
		case !agreed:
			if c.unsubscribeFor(uri, x.Session) && errors.Is(err, errLate) { // the server has agreed
				c.follow(uri, false)
			}
		}
	}, false
}

// subscribed reports whether the server has agreed to a subscription.
func (c *Connection) subscribed(uri string) bool {
	for _, agreed := range c.uris[uri] {
		if agreed {
			return true
		}
	}
	return false
}

// hold notes that a session wants to hear of a resource.
func (c *carry) hold(uri, session string, agreed bool) {
	if c.uris[uri] == nil {
		c.uris[uri] = map[string]bool{}
		c.uriBytes += len(uri)
		c.urisKept.Resize(c.uriBytes)
	}
	c.uris[uri][session] = c.uris[uri][session] || agreed
}

// unsubscribe has the server told when the last session let go of the resource.
func (c *Connection) unsubscribe(x *request.Exchange) (func(error), bool) {
	uri, ok := splice.GetString(x.Params, "uri")
	switch {
	case !ok:
		return nil, false // the server says what is wrong
	case !c.unsubscribeFor(uri, x.Session) || c.following[uri] != nil:
		return nil, true
	case c.facts.Version.Has(protocol.Listen):
		return nil, false
	}
	c.following[uri] = &following{}
	return func(error) { c.followed(uri, false, nil) }, false
}

func (c *Connection) release(uri, session string) (last bool) {
	who := c.uris[uri]
	delete(who, session)
	if len(who) > 0 {
		return false
	}
	c.drop(uri)
	return true
}
