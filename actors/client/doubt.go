package client

import (
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// Behind a URL there may be another server from one call to the next, of the other era or of an older transport. It refuses whatever it is
// asked, and often in words that would be in order for the server that was there. So such a refusal is looked into before it is passed on:
// the server is asked what only one of the era that was agreed on answers. When it does not, all begins anew as after a session that was
// forgotten, and what was refused is sent again, once.

// Sure is how long after such a question no other is asked.
const Sure = 10 * time.Second

// errEra is how a connection to such a server ends.
var errEra = errors.New("the server does not speak any more what it spoke")

// alien are the codes with which a server of the other era may refuse a request, by the era that was agreed on.
var alien = map[protocol.Era][]int64{
	protocol.Legacy: {jsonrpc.CodeInvalidParams, protocol.CodeHeaderMismatch, protocol.CodeUnsupportedVersion},
	protocol.Modern: {
		-32000, // of no specification: what servers of TypeScript say to a request without a session
		jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams, protocol.CodeUnsupportedVersion,
	},
}

// isAlien reports whether an error may be one of a server of the other era.
func (c *Connection) isAlien(err error) bool {
	var answer *jsonrpc.Error
	var status *streamable.StatusError
	if errors.As(err, &answer) {
		return slices.Contains(alien[c.facts.Version.Era()], answer.Code)
	}
	return errors.As(err, &status) && status.Foreign()
}

// doubts reports whether the answer to a call is kept until it is known whether the server is the one that it was.
func (c *Connection) doubts(id jsonrpc.ID, in transport.Inbound) bool {
	err := in.Err
	if in.Message.Error != nil {
		err = in.Message.Error
	}
	if err == nil || c.piped() || c.state != Ready || c.drives[c.calls[id].x.ID] != nil || !c.isAlien(err) {
		return false
	}
	if len(c.doubted) == 0 {
		if !c.sure.IsZero() && c.p.Now().Sub(c.sure) < Sure {
			return false
		}
		method := "ping"
		if c.facts.Version.Era() == protocol.Modern {
			method = "server/discover"
		}
		if c.request(method, nil, c.o.RequestTimeout(), c.certain) != nil {
			return false
		}
	}
	c.doubted = append(c.doubted, in)
	return true
}

// certain takes the answer to that question. A server that has trouble of its own has not shown that it is another.
func (c *Connection) certain(result jsontext.Value, err error) error {
	refused := c.doubted
	c.doubted, c.sure = nil, c.p.Now()
	other := err != nil && c.isAlien(err)
	if err == nil && c.facts.Version.Era() == protocol.Modern {
		r, err := protocol.ParseDiscover(result)
		other = err != nil || !slices.Contains(r.Versions, c.facts.Version.String())
	}
	for _, in := range refused {
		id := in.Related
		if in.Err == nil {
			id = in.Message.ID
		}
		switch f := c.calls[id]; {
		case f == nil: // withdrawn meanwhile
		case other && !c.again[f.x.ID] && !c.full():
			delete(c.calls, id)
			delete(c.written, f.x.ID)
			f.settle(errEra)
			c.again[f.x.ID] = true
			c.queue = append(c.queue, f.x)
		default:
			if err := c.inbound(in); err != nil {
				return err
			}
		}
	}
	if other {
		c.spoken = 0
		c.abandon(c.blame(errEra))
		c.quit(errEra)
		c.begin(0)
	}
	return nil
}

// mismatched takes a call that a modern server refused because of the header fields that repeat its arguments: the tool's schema is not the
// one that was listed. With the new one it is made again, once (2026-07-28 §basic/transports/streamable-http).
func (c *Connection) mismatched(id jsonrpc.ID, m jsonrpc.Message) bool {
	x := c.calls[id].x
	if m.Error == nil || m.Error.Code != protocol.CodeHeaderMismatch || x.Method != "tools/call" || c.piped() || c.again[x.ID] ||
		!c.facts.offers(catalog.Tools) || c.state != Ready || c.drives[x.ID] != nil {
		return false
	}
	c.again[x.ID] = true
	c.stale = append(c.stale, id)
	if f := &c.fetching[catalog.Tools]; !f.busy {
		c.fetch(catalog.Tools)
	}
	return true
}

// refreshed makes such calls again, when the list is there.
func (c *Connection) refreshed() {
	stale := c.stale
	c.stale = nil
	for _, id := range stale {
		if f := c.calls[id]; f != nil { // not withdrawn meanwhile
			delete(c.calls, id)
			delete(c.written, f.x.ID)
			c.write(f.x)
		}
	}
}
