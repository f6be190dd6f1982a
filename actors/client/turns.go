package client

import (
	"slices"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// turns is what calls wait for that wait for their turn.
type turns struct {
	patient bool // they are going to be looked at
	stuffed bool // the first found no room in the server's input
	trying  bool // it is going to be tried again
}

// interactive reports whether a server may ask its client something during a request (2025-11-25 §client/sampling, §client/elicitation).
// One of an extension may be such a request.
func interactive(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read":
		return true
	}
	return !protocol.Known(method)
}

// exclusive reports whether a question of the server might be anybody's, if calls of several clients were in flight: it may ask, and need
// not say during which call. Over Streamable HTTP it can, and published servers do not always.
func (c *Connection) exclusive() bool {
	if !c.asks || c.facts.Version.Era() != protocol.Legacy {
		return false
	}
	up := c.info()
	return !up.Correlates && !up.Stateless
}

// free reports whether a call may be written beside those in flight: where a question could be anybody's, they must all be one client's. A
// request that stands alone does not say whose it is, so that it has the server for itself.
func (c *Connection) free(x *request.Exchange) bool {
	if !interactive(x.Method) || !c.exclusive() {
		return true
	}
	for _, f := range c.calls.all() {
		if interactive(f.x.Method) && (f.x.Session != x.Session || x.Version.Has(protocol.MultiRoundTrip)) {
			return false
		}
	}
	return true
}

// behind reports whether others wait for their turn, or for room, already, who were here first.
func (c *Connection) behind(x *request.Exchange) bool {
	return len(c.queue) > 0 && (c.turns.stuffed || interactive(x.Method) && c.exclusive())
}

// takeTurns writes what waited for its turn and has it now, in the order of arrival. What still waits goes to other instances.
func (c *Connection) takeTurns() {
	c.turns.stuffed = false
	c.answerLate()
	c.writeFree()
	c.spread()
	c.vacate()
}

// writeFree writes the calls at the head of the queue that have their turn.
func (c *Connection) writeFree() {
	for n := len(c.queue); n > 0 && c.state == Ready && !c.closing && !c.turns.stuffed &&
		c.free(c.queue[0]) && !c.interest.Holds() && !c.waitsFirst(c.queue[0]); n-- {
		c.write(c.pop())
	}
	c.holdFirst()
}

// during are the calls in which the server may have asked something that names none. Before it takes calls, it can only mean those who wait
// for it.
func (c *Connection) during() (calls []*request.Exchange) {
	for _, f := range c.calls.all() {
		if interactive(f.x.Method) {
			calls = append(calls, f.x)
		}
	}
	if c.state == Ready && !c.interest.Holds() && (c.calls.len() > 0 || !c.asksFirst()) {
		return calls
	}
	for _, x := range c.queue {
		if interactive(x.Method) {
			calls = append(calls, x)
		}
	}
	return calls
}

// read is the newest of one client's calls whose stream the client still reads, or else the newest.
// Clients give calls up by ending their request of HTTP, which cancels nothing in legacy revisions.
func read(calls []*request.Exchange) *request.Exchange {
	for _, x := range slices.Backward(calls) {
		if l, ok := x.Sink.(interface{ Left() bool }); !ok || !l.Left() {
			return x
		}
	}
	return calls[len(calls)-1]
}

// address says whom a question is for, and which session's row that is. One that came on a call's stream, or names a task, belongs to that,
// any other to the only call during which it can have been asked. When there are several they must be one client's, which hears of it on the
// stream of any of them.
func (c *Connection) address(q *Question, related jsonrpc.ID) (to request.Owner, session string, ok bool) {
	if f := c.calls.get(related); f != nil {
		q.Exchange = f.x
		return f.x.Owner, f.x.Session, true
	}
	if x := c.ofTask(q.Params); x != nil {
		q.Exchange = x
		return x.Owner, x.Session, true
	}
	var during []*request.Exchange
	if related.IsZero() {
		during = c.during()
	}
	switch {
	case len(during) > 0 && c.beforeCalls(q, during):
		q.On = during[0]
		return q.On.Owner, q.On.Session, true
	case len(during) == 1:
		q.Exchange = during[0]
		return q.Exchange.Owner, q.Exchange.Session, true
	case len(during) > 1:
		q.On = read(during)
		return q.On.Owner, q.On.Session, !slices.ContainsFunc(during, func(x *request.Exchange) bool {
			return x.Session != q.On.Session || x.Version.Has(protocol.MultiRoundTrip)
		})
	}
	session, ref, ok := c.onlySession()
	return ref, session, ok
}

// beforeCalls reports whether a question for roots is no part of the calls that wait for its
// answer: the session that uses the connection can answer it also when its call is cancelled, and
// the server needs it for the next. When several sessions of one principal wait, the first is
// asked: they share one process, which has no roots otherwise.
func (c *Connection) beforeCalls(q *Question, waiting []*request.Exchange) bool {
	return q.Method == "roots/list" && !slices.ContainsFunc(waiting, func(x *request.Exchange) bool {
		return c.flightOf(x.ID) != nil || c.clients[x.Session].ref != x.Owner ||
			x.Principal != waiting[0].Principal || x.Version.Has(protocol.MultiRoundTrip)
	})
}
