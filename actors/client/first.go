package client

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// A server may ask something before it takes its first call, and do that call by the answer: the
// published server of files asks for the roots of its client, and serves its configured folder
// until it has them. A client of the server itself has a pause between its start and its first
// call, in which it answers. Here the first call is there when the server starts, so it waits for
// the answers.

const (
	// FirstAnswersWait is how long calls wait for the answers to what their server asked before them.
	FirstAnswersWait = 2 * time.Second
	// FirstAnswersRest is how much of that a server has to act on the last answer: servers do not
	// handle messages in turn, so that a call right behind the answer would overtake it.
	FirstAnswersRest = 100 * time.Millisecond
)

// firstDue says that calls may have waited for long enough.
type firstDue struct{}

// asksFirst reports whether something is unanswered that the server asked before its first call, or
// may have asked.
func (c *Connection) asksFirst() bool {
	if c.given {
		return false
	}
	if c.pinging || len(c.early) > 0 || c.p.Now().Before(c.restsUntil) {
		return true
	}
	for _, o := range c.open {
		if o.first {
			return true
		}
	}
	return false
}

// waitsFirst reports whether a call waits for such answers. Lists do not: no answer changes them.
func (c *Connection) waitsFirst(x *request.Exchange) bool {
	return interactive(x.Method) && c.asksFirst()
}

// holdFirst bounds how long the calls wait that are there.
func (c *Connection) holdFirst() {
	if c.firstBy.IsZero() && c.state == Ready && len(c.queue) > 0 && c.asksFirst() {
		c.firstBy = c.p.Now().Add(FirstAnswersWait)
		c.p.After(FirstAnswersWait, firstDue{})
	}
}

// firstOver lets the calls go once there is nothing to wait for, or they have waited for long
// enough. It follows each message, because any may be the end of a question.
func (c *Connection) firstOver() {
	if c.firstBy.IsZero() {
		return
	}
	asks := c.asksFirst()
	if asks && c.p.Now().Before(c.firstBy) {
		return
	}
	c.firstBy, c.given = time.Time{}, c.given || asks
	c.takeTurns()
}

// firstAnswered gives the server time for an answer.
func (c *Connection) firstAnswered(o *open) {
	if o.first && !c.given {
		c.restsUntil = c.p.Now().Add(FirstAnswersRest)
		c.p.After(FirstAnswersRest, firstDue{})
	}
}

// pingFirst has calls wait until it is known whether the server asks something because of what it
// was told just now: it does so before it answers a ping.
func (c *Connection) pingFirst() {
	c.given, c.pinging = false, true
	heard := func(jsontext.Value, error) error {
		c.pinging = false
		return nil
	}
	c.pinging = c.request("ping", nil, FirstAnswersWait, heard) == nil
}

// pingStart does so for a server that takes calls before it has answered anything since its
// handshake, if it may ask for roots.
func (c *Connection) pingStart() {
	if (c.o.Key.Instance > 0 || c.listing()) && c.facts.Version.Era() == protocol.Legacy &&
		c.gate().Check(protocol.Server, "roots/list", nil) == nil {
		c.pingFirst()
	}
}

// tellOtherRoots has the server ask for roots anew, before its next call.
func (c *Connection) tellOtherRoots() {
	c.rootless, c.unsaid, c.rootsOf = false, false, ""
	if c.gate().Check(protocol.Client, rootsChanged, nil) == nil {
		c.send(jsonrpc.Notification(rootsChanged, nil))
		c.pingFirst()
	}
}

// tellRootsOf does so for a call when the server was refused the roots of anybody, because it was
// not known whose it meant: now there is one call that it can mean.
func (c *Connection) tellRootsOf(x *request.Exchange) {
	if c.unsaid && c.state == Ready && interactive(x.Method) && c.calls.len()+len(c.queue) == 0 {
		c.tellOtherRoots()
	}
}

// Class lets it be heard however full the mailbox is: there is one for each time that calls wait,
// and one for each answer.
func (firstDue) Class() otp.Class { return otp.Owed }
