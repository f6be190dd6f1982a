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

// Behind a URL there may be another server from one call to the next, of the other era or of an
// older transport. It refuses whatever it is asked, and often in words that would be in order for
// the server that was there. So such a refusal is looked into before it is passed on: the server is
// asked what only one of the era that was agreed on answers. When it does not, all begins anew as
// after a session that was forgotten, and what was refused is sent again, once.

// errEra is how a connection to such a server ends.
var errEra = errors.New("the server does not speak any more what it spoke")

// doubts reports whether the answer to a call is kept until it is known whether the server is the
// one that it was.
func (c *Connection) doubts(f *flight, in transport.Inbound) bool {
	err := in.Err
	if in.Message.Error != nil {
		err = in.Message.Error
	}
	if err == nil || c.piped() || c.state != Ready || c.drives[f.x.ID] != nil {
		return false
	}
	sign := era.SignOf(c.facts.Version.Era(), err)
	if sign == era.None {
		return false
	}
	now := c.p.Now()
	if len(c.doubted) == 0 {
		if !c.identity.Due(now, sign) ||
			c.request(c.sign(), nil, c.o.RequestTimeout(), c.questioned) != nil {
			return false
		}
		c.identity.Asked(now, sign)
	}
	c.doubted = append(c.doubted, in)
	return true
}

// questioned takes the answer to that question. What does not show whose it is leads to one that
// only a modern server answers.
func (c *Connection) questioned(result jsontext.Value, err error) error {
	another, unsure := era.Check(c.facts.Version, result, err)
	newest, may := c.o.Policy.Newest(protocol.Modern)
	if !unsure || !may {
		return c.certain(another)
	}
	meta := protocol.Meta{
		Version:      newest.String(),
		Capabilities: c.told.Shape(newest),
		Info:         c.o.Self,
	}
	then := func(result jsontext.Value, err error) error {
		return c.certain(era.CheckModern(c.o.Policy, result, err))
	}
	if c.request("server/discover", meta.Set(nil), c.o.RequestTimeout(), then) != nil {
		return c.certain(false)
	}
	return nil
}

// certain does with what was refused what is right now that it is known whether the server is
// another.
func (c *Connection) certain(other bool) error {
	refused := c.doubted
	c.doubted = nil
	for _, in := range refused {
		id := in.Related
		if in.Err == nil {
			id = in.Message.ID
		}
		switch f := c.calls.get(id); {
		case f == nil: // withdrawn meanwhile
		case other && !f.x.Resent() && !c.full():
			c.calls.take(id)
			c.written.Remove(f.x)
			f.settle(errEra)
			f.x.Resend()
			c.queue = append(c.queue, f.x)
		default:
			if err := c.inbound(in); err != nil {
				return err
			}
		}
	}
	if other {
		c.identity.Another(c.speaks())
		c.past.Spoken = 0
		c.leave()
		c.renew(errEra)
	}
	return nil
}

// speaks is what is spoken to the server.
func (c *Connection) speaks() era.Dialect {
	return era.Dialect{Era: c.facts.Version.Era(), Transport: c.up.Info().Transport}
}

// mismatched takes a call that a modern server refused because of the header fields that repeat its
// arguments: the tool's schema is not the one that was listed. With the new one it is made again,
// once (2026-07-28 §basic/transports/streamable-http).
func (c *Connection) mismatched(f *flight, m jsonrpc.Message) bool {
	x := f.x
	if m.Error == nil || m.Error.Code != protocol.CodeHeaderMismatch || x.Method != "tools/call" || c.piped() || x.Resent() ||
		!c.facts.Offers(catalog.Tools) ||
		c.state != Ready ||
		c.drives[x.ID] != nil {
		return false
	}
	x.Resend()
	c.stale = append(c.stale, f.id)
	_ = c.listed(func(s *listStep) { s.fetchNow(catalog.Tools) })
	return true
}

// refreshed makes such calls again, when the list is there.
func (c *Connection) refreshed() {
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
