package client

import (
	"slices"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// turns is the state of the queue of calls that wait for their turn.
type turns struct {
	patient bool // another look at the calls is scheduled
	stuffed bool // the first found no room in the server's input
	trying  bool // another attempt is scheduled
}

// interactive reports whether a server may ask its client something during a request (2025-11-25
// §client/sampling, §client/elicitation). A request of an extension may be such a request.
func interactive(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read":
		return true
	}
	return !protocol.Known(method)
}

// exclusive reports whether a question of the server could be for any client, if calls of several
// clients were in flight: the server may ask, and need not say during which call. Over Streamable
// HTTP it can say so, but published servers do not always.
func (c *Connection) exclusive() bool {
	if !c.asks || c.facts.Version.Era() != protocol.Legacy {
		return false
	}
	up := c.info()
	return !up.Correlates && !up.Stateless
}

// free reports whether a call may be written beside those in flight. Where a question could be for
// any client, all of them must be calls of one client. A stateless request does not say which
// client it comes from, so it has the server to itself.
func (c *Connection) free(x *request.Exchange) bool {
	if !interactive(x.Method) || !c.exclusive() {
		return true
	}
	for _, f := range c.calls.all() {
		if interactive(f.x.Method) &&
			(f.x.Session != x.Session || x.Version.Has(protocol.MultiRoundTrip)) {
			return false
		}
	}
	return true
}

// behind reports whether a call has to queue behind others, which wait for their turn or for room.
func (c *Connection) behind(x *request.Exchange) bool {
	return len(c.queue) > 0 && (c.turns.stuffed || interactive(x.Method) && c.exclusive())
}

// takeTurns writes the queued calls that have their turn now, in the order of arrival. The calls
// that still wait go to other instances.
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

// during returns the calls in which the server may have asked a question that names no call. Before
// the server takes calls, such a question can only concern the calls that wait for the server.
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

// read returns the newest of one client's calls whose stream the client still reads, or else the
// newest. Clients give up calls by ending their HTTP request, which cancels nothing in legacy
// revisions.
func read(calls []*request.Exchange) *request.Exchange {
	for _, x := range slices.Backward(calls) {
		if l, ok := x.Sink.(interface{ Left() bool }); !ok || !l.Left() {
			return x
		}
	}
	return calls[len(calls)-1]
}

// address returns the client that a question is for, and the row of its session. A question that
// came on a call's stream, or names a task, belongs to that call or task. Any other belongs to the
// only call during which it can have been asked. If there are several such calls they must be of
// one client, which is asked on the stream of any of them.
func (c *Connection) address(q *Question, related jsonrpc.ID) (to request.Owner,
	session string, ok bool) {
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

// beforeCalls reports whether a question for roots is independent of the calls that wait for its
// answer. The session that uses the connection can answer it even when its call is cancelled, and
// the server needs the answer for the next call. When several sessions of one principal wait, the
// first is asked: they share one process, which gets no roots otherwise.
func (c *Connection) beforeCalls(q *Question, waiting []*request.Exchange) bool {
	return q.Method == "roots/list" && !slices.ContainsFunc(waiting, func(x *request.Exchange) bool {
		return c.flightOf(x.ID) != nil || c.clients[x.Session].ref != x.Owner ||
			x.Principal != waiting[0].Principal || x.Version.Has(protocol.MultiRoundTrip)
	})
}
