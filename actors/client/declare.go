package client

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/internal/order"
	"mcpd/protocol"
)

// carried is what a server may ask of a client through this host. Extensions are passed on as they
// are, whatever they are.
const carried = `{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}},` +
	`"extensions":{},"experimental":{}}`

// Carried is what of a client's capabilities can be declared to a server: never more than the
// client declared, nor than the host passes on. A server that believes in a capability nobody has
// may wait for ever.
func Carried(client protocol.ClientCapabilities) protocol.ClientCapabilities {
	carrier, err := protocol.ParseClientCapabilities(jsontext.Value(carried))
	if err != nil {
		panic(err) // the text above is ours
	}
	return client.Intersect(carrier)
}

// together is what a server is told that starts now: where clients of several kinds share it, what
// those can do together that use it, or wait for it.
func (c *Connection) together() protocol.ClientCapabilities {
	var all []protocol.ClientCapabilities
	for _, u := range order.Of(c.clients) {
		if u.Differs {
			all = append(all, u.Declare)
		}
	}
	switch {
	case c.o.Instances != 1 || len(all) == 0:
		return c.o.Declare
	case !c.listing.ever: // who waited when this connection was opened may not have said so yet
		all = append(all, c.o.Declare)
	}
	return all[0].Union(all[1:]...)
}

// tells notes what the server is told.
func (c *Connection) tells(told protocol.ClientCapabilities) {
	c.told = told
	c.asks = told.Fingerprint().Asks()
}

// declared is what this server is told that its clients can do.
func (c *Connection) declared() protocol.ClientCapabilities {
	return c.told.Shape(c.facts.Version)
}

// can is what the client of a session can do, as far as this server may be told.
func (c *Connection) can(session string) protocol.ClientCapabilities {
	if u := c.clients[session]; u.Differs {
		return u.Declare
	}
	return c.told
}

// declaredBy is what this server is told that the client of a call can do, where each request says
// so.
func (c *Connection) declaredBy(x *request.Exchange) protocol.ClientCapabilities {
	return c.can(x.Session).Shape(c.facts.Version)
}

// beyond reports why a session may not be asked something that the server was told its clients can
// be asked: this one cannot. It is told of that for its call, and the client is not bothered.
func (c *Connection) beyond(session, method string, params jsontext.Value) error {
	u := c.clients[session]
	if !u.Differs {
		return nil
	}
	gate := c.gate()
	gate.Client = u.Declare
	err := gate.Check(protocol.Server, method, params)
	if refused, ok := errors.AsType[*protocol.Error](err); ok {
		why := *refused
		why.Message = "the client whose call this belongs to has not declared that it can be asked this: " + why.Message
		return &why
	}
	return err
}
