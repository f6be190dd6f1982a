package client

import (
	"slices"
	"time"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// Much of what a server says names no call: log lines on a pipe, and whatever a program writes to its
// standard error. Where several principals share the connection it may be about any of them. This
// decides who may hear it. What has more than one possible owner is nobody's.

// served is whose calls a server was given since it was started. What it says without naming a call
// may be about any of them.
type served struct {
	any       bool
	several   bool   // principals
	principal string // the first
}

func (s *served) add(principal string) {
	switch {
	case !s.any:
		*s = served{any: true, principal: principal}
	case s.principal != principal:
		s.several = true
	}
}

// Readers says who may read what a program wrote to its standard error. The zero value is nobody.
type Readers struct {
	Everybody bool   `json:"everybody,omitzero"` // it was given no call yet, or the operator says so
	One       bool   `json:"one,omitzero"`       // Principal: the only one whose calls it was given
	Principal string `json:"principal,omitzero"`
}

// May reports whether a principal may read it.
func (r Readers) May(principal string) bool {
	return r.Everybody || r.One && r.Principal == principal
}

func (s served) readers(everybody bool) Readers {
	switch {
	case everybody || !s.any:
		return Readers{Everybody: true}
	case s.several:
		return Readers{}
	}
	return Readers{One: true, Principal: s.principal}
}

// audience is who may hear what a server says without naming a call. The zero value is nobody.
type audience struct {
	call *request.Exchange // during it, on its stream
	// sharing is the sessions that share the connection: only this one, and only of that principal,
	// where they are set.
	sharing            bool
	session, principal string
	filter             string       // only of the sessions that listen with this filter of extensions
	era                protocol.Era // only of the sessions of that era
}

// everybody shares the connection.
var everybody = audience{sharing: true}

// audienceOf decides by the calls in flight, or by those before when there are none. Calls that were
// withdrawn lately count as in flight: the server may still work on them.
func audienceOf(calls []*request.Exchange, withdrawn, before served) audience {
	sessions, principals := served{}, withdrawn
	for _, x := range calls {
		sessions.add(x.Session)
		principals.add(x.Principal)
	}
	switch {
	case len(calls) == 0 && !before.any: // it speaks of itself
		return everybody
	case len(calls) == 0:
		principals = before
	case principals.several:
	case len(calls) == 1:
		return audience{call: calls[0]}
	case !sessions.several && slices.ContainsFunc(calls, standsAlone):
		return audience{} // several clients may be behind one peer, and each hears of its own call only
	case !sessions.several:
		return audience{sharing: true, session: calls[0].Session, principal: calls[0].Principal}
	}
	if principals.several {
		return audience{}
	}
	return audience{sharing: true, principal: principals.principal}
}

func standsAlone(x *request.Exchange) bool { return x.Version.Has(protocol.PerRequestMeta) }

// WithdrawnFor is how long a server may go on with a call that was withdrawn from it, and speak of it.
const WithdrawnFor = 30 * time.Second

// withdrawals is whose calls were withdrawn from a server, which speaks of them until then.
type withdrawals struct {
	served
	until time.Time
}

// at is whose calls those were of which it still speaks.
func (w withdrawals) at(now time.Time) served {
	if now.After(w.until) {
		return served{}
	}
	return w.served
}

// withdrew notes that a server is told to give up a call.
func (c *Connection) withdrew(x *request.Exchange) {
	c.withdrawals = withdrawals{c.withdrawals.at(c.p.Now()), c.p.Now().Add(WithdrawnFor)}
	c.withdrawals.add(x.Principal)
}

// audience is who may hear a log line that came on the stream of a request, or on none.
func (c *Connection) audience(related jsonrpc.ID) audience {
	a := c.owner(related)
	if a == (audience{}) && c.o.ShareLogs {
		return everybody
	}
	return a
}

// owner is whoever it may be about.
func (c *Connection) owner(related jsonrpc.ID) audience {
	if f := c.calls.get(related); f != nil {
		return audience{call: f.x}
	}
	var calls []*request.Exchange
	if related.IsZero() { // else it is a request of the host's own, or a call that is over
		for _, f := range c.calls.all() {
			calls = append(calls, f.x)
		}
		calls = append(calls, c.lines.awaiting()...)
	}
	return audienceOf(calls, c.withdrawals.at(c.p.Now()), c.served)
}
