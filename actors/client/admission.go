package client

import (
	"slices"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// admission is the state of the queue of calls that wait for their turn.
type admission struct {
	lookScheduled  bool // another look at the calls is scheduled
	inputFull      bool // the first found no room in the server's input
	retryScheduled bool // another attempt is scheduled
}

// interactive reports whether a server may ask its client something during a request (2025-11-25
// §client/sampling, §client/elicitation). A request of an extension may be such a request.
func interactive(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read":
		return true
	}
	return !protocol.IsKnownMethod(method)
}

// oneClientAtATime reports whether a question of the server could be for any client, if calls of
// several clients were in flight: the server may ask, and need not say during which call. Over
// Streamable HTTP it can say so, but published servers do not always.
func (c *Connection) oneClientAtATime() bool {
	if !c.asks || c.facts.Version.Era() != protocol.Legacy {
		return false
	}
	up := c.info()
	return !up.Correlates && !up.Stateless
}

// mayWrite reports whether a call may be written beside those in flight. Where a question could be
// for any client, all of them must be calls of one client. A stateless request does not say which
// client it comes from, so it has the server to itself.
func (c *Connection) mayWrite(x *request.Exchange) bool {
	if !interactive(x.Method) || !c.oneClientAtATime() {
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

// mustQueue reports whether a call has to queue behind others, which wait for their turn or for
// room.
func (c *Connection) mustQueue(x *request.Exchange) bool {
	return len(c.queue) > 0 && (c.admission.inputFull || interactive(x.Method) && c.oneClientAtATime())
}

// admitQueued writes the queued calls that have their turn now, in the order of arrival. The calls
// that still wait go to other instances.
func (c *Connection) admitQueued() {
	c.admission.inputFull = false
	c.sendHeldAnswers()
	c.writeAdmitted()
	c.distribute()
	c.reportIdle()
}

// writeAdmitted writes the calls at the head of the queue that have their turn.
func (c *Connection) writeAdmitted() {
	for n := len(c.queue); n > 0 && c.state == Ready && !c.closing && !c.admission.inputFull &&
		c.mayWrite(c.queue[0]) && !c.interest.Holds() && !c.waitsForEarlyAnswers(c.queue[0]); n-- {
		c.write(c.pop())
	}
	c.boundEarlyWait()
}

// callsMeant returns the calls in which the server may have asked a question that names no call.
// Before the server takes calls, such a question can only concern the calls that wait for the
// server.
func (c *Connection) callsMeant() (calls []*request.Exchange) {
	for _, f := range c.calls.all() {
		if interactive(f.x.Method) {
			calls = append(calls, f.x)
		}
	}
	if c.state == Ready && !c.interest.Holds() && (c.calls.len() > 0 || !c.mayAskBeforeCalls()) {
		return calls
	}
	for _, x := range c.queue {
		if interactive(x.Method) {
			calls = append(calls, x)
		}
	}
	return calls
}

// newestReadCall returns the newest of one client's calls whose stream the client still reads, or
// else the newest. Clients give up calls by ending their HTTP request, which cancels nothing in
// legacy revisions.
func newestReadCall(calls []*request.Exchange) *request.Exchange {
	for _, x := range slices.Backward(calls) {
		if l, ok := x.Sink.(interface{ Left() bool }); !ok || !l.Left() {
			return x
		}
	}
	return calls[len(calls)-1]
}

// addressee returns the client that a question is for, and the row of its session. A question that
// came on a call's stream, or names a task, belongs to that call or task. Any other belongs to the
// only call during which it can have been asked. If there are several such calls they must be of
// one client, which is asked on the stream of any of them.
func (c *Connection) addressee(q *Question, related jsonrpc.ID) (to request.Owner,
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
		during = c.callsMeant()
	}
	switch {
	case len(during) > 0 && c.beforeCalls(q, during):
		q.OtherCall = during[0]
		return q.OtherCall.Owner, q.OtherCall.Session, true
	case len(during) == 1:
		q.Exchange = during[0]
		return q.Exchange.Owner, q.Exchange.Session, true
	case len(during) > 1:
		q.OtherCall = newestReadCall(during)
		return q.OtherCall.Owner, q.OtherCall.Session, !slices.ContainsFunc(during,
			func(x *request.Exchange) bool {
				return x.Session != q.OtherCall.Session || x.Version.Has(protocol.MultiRoundTrip)
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
		return c.inflightOf(x.ID) != nil || c.clients[x.Session].ref != x.Owner ||
			x.Principal != waiting[0].Principal || x.Version.Has(protocol.MultiRoundTrip)
	})
}
