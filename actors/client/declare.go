package client

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
)

// passable is what a server may ask of a client through this host. Extensions are passed on
// unchanged, whatever they are.
const passable = `{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}},` +
	`"extensions":{},"experimental":{}}`

// PassableCapabilities returns what of a client's capabilities can be declared to a server: never
// more than the client declared, nor than the host passes on. A server that relies on a capability
// which nobody has may wait for ever.
func PassableCapabilities(client protocol.ClientCapabilities) protocol.ClientCapabilities {
	carrier, err := protocol.ParseClientCapabilities(jsontext.Value(passable))
	if err != nil {
		panic(err) // the text above is ours
	}
	return client.Intersect(carrier)
}

// combinedCapabilities returns what a server is told that starts now. If clients of several kinds
// share the server, it is what those that use it, or wait for it, can do together.
func (c *Connection) combinedCapabilities() protocol.ClientCapabilities {
	var all []protocol.ClientCapabilities
	for _, u := range sortedmap.Sorted(c.clients) {
		if u.Differs {
			all = append(all, u.Declare)
		}
	}
	switch {
	case c.o.Instances != 1 || len(all) == 0:
		return c.o.Declare
	case !c.listing.ever: // clients that waited when this was opened may not have said so yet
		all = append(all, c.o.Declare)
	}
	return all[0].Union(all[1:]...)
}

// setDeclared records what the server is told.
func (c *Connection) setDeclared(told protocol.ClientCapabilities) {
	c.toldCapabilities = told
	c.asks = told.Fingerprint().AllowsServerRequests()
}

// declared returns what this server is told that its clients can do.
func (c *Connection) declared() protocol.ClientCapabilities {
	return c.toldCapabilities.Shape(c.facts.Version)
}

// clientCapabilities returns what the client of a session can do, as far as this server may be
// told.
func (c *Connection) clientCapabilities(session string) protocol.ClientCapabilities {
	if u := c.clients[session]; u.Differs {
		return u.Declare
	}
	return c.toldCapabilities
}

// declaredBy returns what this server is told that the client of a call can do, where each request
// says so.
func (c *Connection) declaredBy(x *request.Exchange) protocol.ClientCapabilities {
	return c.clientCapabilities(x.Session).Shape(c.facts.Version)
}

// checkSessionDeclares returns why a session cannot be asked something that the server was told its
// clients can be asked: the client of this session cannot. The server is told that for its call,
// and the client is not bothered.
func (c *Connection) checkSessionDeclares(session, method string, params jsontext.Value) error {
	u := c.clients[session]
	if !u.Differs {
		return nil
	}
	gate := c.gate()
	gate.Client = u.Declare
	err := gate.Check(protocol.Server, method, params)
	if refused, ok := errors.AsType[*protocol.Error](err); ok {
		why := *refused
		why.Message = "the client whose call this belongs to has not declared that it can be asked " +
			"this: " + why.Message
		return &why
	}
	return err
}
