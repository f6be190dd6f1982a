package client

import (
	"slices"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// interactive are the requests during which a server may ask its client something (2025-11-25 §client/sampling, §client/elicitation).
var interactive = map[string]bool{"tools/call": true, "prompts/get": true, "resources/read": true}

// free reports whether a call may be written beside those in flight. A server that asks over a pipe does not say during which call. Once
// it was seen to, it has calls of one session at a time, so that there is no doubt whom it asks.
func (c *Connection) free(x *request.Exchange) bool {
	if !interactive[x.Method] || !c.asks && !c.alone(x) {
		return true
	}
	for _, f := range c.calls {
		if interactive[f.x.Method] && (f.x.Session != x.Session || c.alone(x)) {
			return false
		}
	}
	return true
}

// alone reports whether a question during the call must not be taken for one of another, not even of the same session: many clients send
// requests that stand alone, and their server says on a pipe what it asks, and not during which call.
func (c *Connection) alone(x *request.Exchange) bool {
	return c.info().PID != 0 && x.Version.Has(protocol.MultiRoundTrip) && c.o.Declare.Fingerprint() != 0
}

// behind reports whether others wait for their turn already, who were here first.
func (c *Connection) behind(x *request.Exchange) bool {
	return (c.asks || c.alone(x)) && interactive[x.Method] && len(c.queue) > 0
}

// takeTurns writes what waited for its turn and has it now, in the order of arrival.
func (c *Connection) takeTurns() {
	for n := len(c.queue); n > 0 && c.state == Ready && c.free(c.queue[0]); n-- {
		x := c.queue[0]
		c.queue = c.queue[1:]
		c.write(x)
	}
}

// address says whom a question is for. One that came on a call's stream belongs to that call, any other to the only call during which it
// can have been asked. When there are several they must be one client's, which hears of it on the stream of any of them.
func (c *Connection) address(q *Question, related jsonrpc.ID) (to request.Owner, ok bool) {
	if f := c.calls[related]; f != nil {
		q.Exchange = f.x
		return f.x.Owner, true
	}
	var during []*request.Exchange
	for _, f := range c.calls {
		if related.IsZero() && interactive[f.x.Method] {
			during = append(during, f.x)
		}
	}
	c.asks = c.asks || len(during) > 0
	switch {
	case len(during) == 1:
		q.Exchange = during[0]
		return q.Exchange.Owner, true
	case len(during) > 1:
		q.On = during[0]
		return q.On.Owner, !slices.ContainsFunc(during, func(x *request.Exchange) bool { return x.Session != q.On.Session })
	case len(c.sessions) == 1:
		for _, to = range c.sessions {
			return to, true
		}
	}
	return nil, false
}
