package client

import (
	"slices"
	"time"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// Much of what a server says names no call: log lines on a pipe, and everything that a program
// writes to its standard error. If several principals share the connection, it may be about any of
// them. This file decides who may receive it. A message with more than one possible owner goes to
// nobody.

// servedPrincipals records whose calls a server was given since it was started. A message that
// names no call may be about any of them.
type servedPrincipals struct {
	any       bool
	several   bool   // more than one principal
	principal string // the first principal
}

func (s *servedPrincipals) add(principal string) {
	switch {
	case !s.any:
		*s = servedPrincipals{any: true, principal: principal}
	case s.principal != principal:
		s.several = true
	}
}

// Readers says who may read what a program wrote to its standard error. The zero value is nobody.
type Readers struct {
	// Everybody says that everybody may: the program was given no call yet, or the operator allows it.
	Everybody bool `json:"everybody,omitzero"`
	// One says that only Principal may, the only principal whose calls the program was given.
	One       bool   `json:"one,omitzero"`
	Principal string `json:"principal,omitzero"`
}

// May reports whether a principal may read it.
func (r Readers) May(principal string) bool {
	return r.Everybody || r.One && r.Principal == principal
}

func (s servedPrincipals) readers(everybody bool) Readers {
	switch {
	case everybody || !s.any:
		return Readers{Everybody: true}
	case s.several:
		return Readers{}
	}
	return Readers{One: true, Principal: s.principal}
}

// audience is who may receive a message that names no call. The zero value is nobody.
type audience struct {
	call *request.Exchange // the client of this call, on its stream
	// sharing is the sessions that share the connection: if session and principal are set, only that
	// session, and only those of that principal.
	sharing            bool
	session, principal string
	filter             string       // only sessions that listen with this filter of extensions
	era                protocol.Era // only sessions of that era
}

// allSessions is all sessions that share the connection.
var allSessions = audience{sharing: true}

// audienceOf decides by the calls in flight, or by earlier calls when there are none. Calls that
// were withdrawn lately count as in flight: the server may still work on them.
func audienceOf(calls []*request.Exchange, withdrawn, before servedPrincipals) audience {
	sessions, principals := servedPrincipals{}, withdrawn
	for _, x := range calls {
		sessions.add(x.Session)
		principals.add(x.Principal)
	}
	switch {
	case len(calls) == 0 && !before.any: // the server speaks of itself
		return allSessions
	case len(calls) == 0:
		principals = before
	case principals.several:
	case len(calls) == 1:
		return audience{call: calls[0]}
	case !sessions.several && slices.ContainsFunc(calls, standsAlone):
		return audience{} // one peer may stand for several clients, each told only of its own call
	case !sessions.several:
		return audience{sharing: true, session: calls[0].Session, principal: calls[0].Principal}
	}
	if principals.several {
		return audience{}
	}
	return audience{sharing: true, principal: principals.principal}
}

func standsAlone(x *request.Exchange) bool { return x.Version.Has(protocol.PerRequestMeta) }

// WithdrawnFor is how long a server may go on with a call that was withdrawn from it, and write
// about it.
const WithdrawnFor = 30 * time.Second

// withdrawals records whose calls were withdrawn from a server. The server may write about these
// calls until the time until.
type withdrawals struct {
	servedPrincipals
	until time.Time
}

// at returns whose withdrawn calls the server may still write about.
func (w withdrawals) at(now time.Time) servedPrincipals {
	if now.After(w.until) {
		return servedPrincipals{}
	}
	return w.servedPrincipals
}

// withdrew records that a server is told to give up a call.
func (c *Connection) withdrew(x *request.Exchange) {
	c.withdrawals = withdrawals{c.withdrawals.at(c.p.Now()), c.p.Now().Add(WithdrawnFor)}
	c.withdrawals.add(x.Principal)
}

// audience returns who may receive a log line that came on the stream of a request, or on none.
func (c *Connection) audience(related jsonrpc.ID) audience {
	a := c.owner(related)
	if a == (audience{}) && c.o.ShareLogs {
		return allSessions
	}
	return a
}

// owner returns whom such a line may be about.
func (c *Connection) owner(related jsonrpc.ID) audience {
	if f := c.calls.get(related); f != nil {
		return audience{call: f.x}
	}
	var calls []*request.Exchange
	if related.IsZero() { // otherwise it is the host's own request, or a call that is over
		for _, f := range c.calls.all() {
			calls = append(calls, f.x)
		}
		calls = append(calls, c.lines.awaiting()...)
	}
	return audienceOf(calls, c.withdrawals.at(c.p.Now()), c.served)
}
