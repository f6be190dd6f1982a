package client

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client/internal/era"
	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// From one call to the next there may be another server behind a URL, of the other era or of an
// older transport. It refuses every request, often with an error that the former server might have
// given too. So such a refusal is checked before it is passed on: the server is asked something
// that only a server of the agreed era answers. If it does not answer, the connection starts over
// as after a forgotten session, and the refused calls are sent again, once.

// errServerReplaced ends the connection to a server that was found to be another.
var errServerReplaced = errors.New("the server no longer speaks the revision that it spoke before")

// holdsForIdentityCheck reports whether the answer to a call is held until it is known whether the
// server is still the same.
func (c *Connection) holdsForIdentityCheck(f *inflightRequest, in transport.Inbound) bool {
	err := in.Err
	if in.Message.Error != nil {
		err = in.Message.Error
	}
	if err == nil || c.piped() || c.state != Ready || c.mrtrCalls[f.x.ID] != nil {
		return false
	}
	evidence := era.EvidenceOf(c.facts.Version.Era(), err)
	if evidence == era.None {
		return false
	}
	now := c.p.Now()
	if len(c.heldRefusals) == 0 {
		if !c.identity.Due(now, evidence) ||
			c.request(c.probeMethod(), nil, c.o.RequestTimeout(), c.identityAnswered) != nil {
			return false
		}
		c.identity.Asked(now, evidence)
	}
	c.heldRefusals = append(c.heldRefusals, in)
	return true
}

// identityAnswered handles the answer to the request that holdsForIdentityCheck has sent. If the
// answer decides nothing, the server is asked something that only a modern server answers.
func (c *Connection) identityAnswered(result jsontext.Value, err error) error {
	another, unsure := era.Check(c.facts.Version, result, err)
	newest, may := c.o.Policy.Newest(protocol.Modern)
	if !unsure || !may {
		return c.identityDecided(another)
	}
	meta := protocol.Meta{
		Version:      newest.String(),
		Capabilities: c.toldCapabilities.Shape(newest),
		Info:         c.o.Self,
	}
	then := func(result jsontext.Value, err error) error {
		return c.identityDecided(era.CheckModern(c.o.Policy, result, err))
	}
	if c.request("server/discover", meta.Set(nil), c.o.RequestTimeout(), then) != nil {
		return c.identityDecided(false)
	}
	return nil
}

// identityDecided settles the held refusals, now that it is known whether the server is another: it
// sends the calls again, or passes the refusals on.
func (c *Connection) identityDecided(other bool) error {
	refused := c.heldRefusals
	c.heldRefusals = nil
	for _, in := range refused {
		id := in.RequestID
		if in.Err == nil {
			id = in.Message.ID
		}
		switch f := c.calls.get(id); {
		case f == nil: // withdrawn meanwhile
		case other && !f.x.Resent() && !c.full():
			c.calls.take(id)
			c.written.Remove(f.x)
			f.settle(errServerReplaced)
			f.x.Resend()
			c.queue = append(c.queue, f.x)
		default:
			if err := c.inbound(in); err != nil {
				return err
			}
		}
	}
	if other {
		c.identity.Replaced(c.dialect())
		c.past.Spoken = 0
		c.leave()
		c.renew(errServerReplaced)
	}
	return nil
}

// dialect returns the dialect that is spoken to the server.
func (c *Connection) dialect() era.Dialect {
	return era.Dialect{Era: c.facts.Version.Era(), Transport: c.up.Info().Transport}
}

// retryWithNewSchema handles a call that a modern server refused because of the header fields that
// repeat its arguments: the tool's schema is not the one that was listed. The call is made again
// with the new schema, once (2026-07-28 §basic/transports/streamable-http).
func (c *Connection) retryWithNewSchema(f *inflightRequest, m jsonrpc.Message) bool {
	x := f.x
	if m.Error == nil || m.Error.Code != protocol.CodeHeaderMismatch || x.Method != "tools/call" ||
		c.piped() || x.Resent() ||
		!c.facts.Offers(catalog.Tools) ||
		c.state != Ready ||
		c.mrtrCalls[x.ID] != nil {
		return false
	}
	x.Resend()
	c.stale = append(c.stale, f.id)
	_ = c.stepLists(func(s *listStep) { s.fetchNow(catalog.Tools) })
	return true
}

// resendStale makes the calls of retryWithNewSchema again, once the new list of tools is there.
func (c *Connection) resendStale() {
	stale := c.stale
	c.stale = nil
	for _, id := range stale {
		if f := c.calls.get(id); f != nil { // not withdrawn meanwhile
			c.calls.take(id)
			c.written.Remove(f.x)
			c.write(f.x)
		}
	}
}
