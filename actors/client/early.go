package client

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client/internal/early"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

const (
	// QuestionHold is how long a question waits for the first session of a connection. Servers that
	// wait for the answer list nothing meanwhile, and the list of all servers waits for them.
	QuestionHold = 5 * time.Second
	// MaxEarly, FirstAnswersWait and FirstAnswersRest are bounds of package early.
	MaxEarly         = early.Max
	FirstAnswersWait = early.Wait
	FirstAnswersRest = early.Rest
)

// rootsChanged has a server ask for the roots of its client anew.
const rootsChanged = "notifications/roots/list_changed"

type (
	// holdOver says that a question has waited for QuestionHold.
	holdOver struct {
		id      jsonrpc.ID
		attempt uint64
	}
	// rootsDue says that it may be known by now who has the roots.
	rootsDue struct{}
	// firstDue says that calls may have waited for long enough.
	firstDue struct{}
)

// Class lets it be heard however full the mailbox is: there is one for each time that calls wait,
// and one for each answer.
func (firstDue) Class() otp.Class { return otp.Owed }

// holdQuestion keeps a question for which there soon may be somebody to ask, and reports whether it
// does: the first session, or the only one whose client is not gone, while it takes time to tell.
func (c *Connection) holdQuestion(in transport.Inbound) bool {
	defer c.tellEarly(c.early.WantsSession())
	if _, soon := c.present(); c.clients.attached() > 0 && !soon || c.primary != (otp.Ref{}) ||
		!c.o.Kept.Fits(early.Size(in)) || !c.early.Hold(in) {
		return false
	}
	c.countEarly()
	c.p.After(QuestionHold, holdOver{in.Message.ID, c.attempt})
	return true
}

// holdOver asks what has waited for long enough, or refuses it where there still is nobody to ask.
func (c *Connection) holdOver(m holdOver) {
	if m.attempt != c.attempt {
		return
	}
	defer c.tellEarly(c.early.WantsSession())
	in, ok := c.early.TakeOne(m.id.Raw())
	if !ok {
		return
	}
	c.countEarly()
	if _, _, ok := c.onlySession(); ok {
		c.question(in)
		return
	}
	q := in.Message
	c.early.Refused(q.Method, true)
	same := sameQuestion(q)
	q.Params = nil
	c.declined(declined{q, same, protocol.InvalidParams("no client uses this connection yet"), c.attempt})
}

// askEarly asks the first session what was held for it. Where a question for roots was refused because
// there was no session, the server is told that there are others now.
func (c *Connection) askEarly() {
	defer c.tellEarly(c.early.WantsSession())
	held := c.early.Take()
	c.countEarly()
	for _, in := range held {
		c.question(in)
	}
	c.tellRoots()
}

// tellEarly tells the catalogue when the server does not want a session as before, so that a
// session which only looks at lists comes to the connection too.
func (c *Connection) tellEarly(before bool) {
	if c.state == Ready && c.early.WantsSession() != before {
		c.publish(nil, nil)
	}
}

// countEarly counts what waits, for the tenant.
func (c *Connection) countEarly() { c.earlyKept.Resize(c.early.Bytes()) }

// tellRoots has the server ask for roots anew, when it has not those of the session that would be
// asked now.
func (c *Connection) tellRoots() {
	session, soon := c.present()
	if soon {
		c.p.After(QuestionHold, rootsDue{})
	}
	if c.up != nil && c.early.WantsRootsOf(session) {
		c.tellOtherRoots()
	}
}

// tellRootsOf does so for a call when the server was refused the roots of anybody, because it was
// not known whose it meant: now there is one call that it can mean.
func (c *Connection) tellRootsOf(x *request.Exchange) {
	if c.early.WantsRootsSaid() && c.state == Ready && interactive(x.Method) &&
		c.calls.len()+len(c.queue) == 0 {
		c.tellOtherRoots()
	}
}

// tellOtherRoots has the server ask for roots anew, before its next call.
func (c *Connection) tellOtherRoots() {
	c.early.ToldRoots()
	if c.gate().Check(protocol.Client, rootsChanged, nil) == nil {
		c.send(jsonrpc.Notification(rootsChanged, nil))
		c.pingFirst()
	}
}

// pingFirst has calls wait until it is known whether the server asks something first.
func (c *Connection) pingFirst() {
	c.early.Ping()
	heard := func(jsontext.Value, error) error {
		c.early.Pong()
		return nil
	}
	if c.request("ping", nil, FirstAnswersWait, heard) != nil {
		c.early.Pong()
	}
}

// pingStart does so for a server that takes calls before it has answered anything since its
// handshake, if it may ask for roots.
func (c *Connection) pingStart() {
	if (c.o.Key.Instance > 0 || c.listing.busy()) && c.facts.Version.Era() == protocol.Legacy &&
		c.gate().Check(protocol.Server, "roots/list", nil) == nil {
		c.pingFirst()
	}
}

// asksFirst reports whether the server may wait for an answer before its first call.
func (c *Connection) asksFirst() bool { return c.early.Asks(c.p.Now()) }

// waitsFirst reports whether a call waits for such answers. Lists do not: no answer changes them.
func (c *Connection) waitsFirst(x *request.Exchange) bool {
	return interactive(x.Method) && c.asksFirst()
}

// holdFirst bounds how long the calls wait that are there.
func (c *Connection) holdFirst() {
	if c.state == Ready && len(c.queue) > 0 && c.early.Queued(c.p.Now()) {
		c.p.After(FirstAnswersWait, firstDue{})
	}
}

// firstOver lets the calls go that have waited. It follows each message, because any may be the
// end of a question.
func (c *Connection) firstOver() {
	if c.early.Go(c.p.Now()) {
		c.takeTurns()
	}
}
