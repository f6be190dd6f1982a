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
	// QuestionHold is how long a question waits for the first session of a connection. A server that
	// waits for the answer lists nothing meanwhile, and the list of all servers waits for it.
	QuestionHold = 5 * time.Second
	// MaxEarly, FirstAnswersWait and FirstAnswersRest are bounds of package early.
	MaxEarly         = early.Max
	FirstAnswersWait = early.Wait
	FirstAnswersRest = early.Rest
)

// rootsChanged makes a server ask its client for roots again.
const rootsChanged = "notifications/roots/list_changed"

type (
	// holdOver says that a question has waited for QuestionHold.
	holdOver struct {
		id      jsonrpc.ID
		attempt uint64
	}
	// rootsDue says that it may be known by now which client has the roots.
	rootsDue struct{}
	// earlyWaitDue says that calls may have waited for long enough.
	earlyWaitDue struct{}
)

// Class returns otp.Reserved (reserved), so a full mailbox does not refuse the message: there is
// one for each time that calls wait, and one for each answer.
func (earlyWaitDue) Class() otp.Class { return otp.Reserved }

// holdQuestion keeps a question if there may soon be a session to ask, and reports whether it does.
// That is the first session, or the only one whose client is not gone, while it takes time to tell.
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

// holdOver asks the question that has waited for long enough, or refuses it if there still is
// nobody to ask.
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
	c.declined(declined{
		q, same, protocol.InvalidParams("no client uses this connection yet"), c.attempt,
	})
}

// askEarly asks the first session the questions that were held for it. If a question for roots was
// refused because there was no session, the server is told that there are other roots now.
func (c *Connection) askEarly() {
	defer c.tellEarly(c.early.WantsSession())
	held := c.early.Take()
	c.countEarly()
	for _, in := range held {
		c.question(in)
	}
	c.tellRoots()
}

// tellEarly tells the catalogue when the server begins to want a session, or no longer wants one. A
// session that only looks at lists then comes to the connection too.
func (c *Connection) tellEarly(before bool) {
	if c.state == Ready && c.early.WantsSession() != before {
		c.publish(nil, nil)
	}
}

// countEarly counts what waits, for the tenant.
func (c *Connection) countEarly() { c.earlyKept.Resize(c.early.Bytes()) }

// tellRoots makes the server ask for roots again, if it does not have those of the session that
// would be asked now.
func (c *Connection) tellRoots() {
	session, soon := c.present()
	if soon {
		c.p.After(QuestionHold, rootsDue{})
	}
	if c.up != nil && c.early.WantsRootsOf(session) {
		c.tellOtherRoots()
	}
}

// tellRootsOf makes the server ask for roots again before the call x, if it was refused roots
// because they could have been those of any client. Now there is only one call that the server can
// mean.
func (c *Connection) tellRootsOf(x *request.Exchange) {
	if c.early.RootsRefusedAmbiguous() && c.state == Ready && interactive(x.Method) &&
		c.calls.len()+len(c.queue) == 0 {
		c.tellOtherRoots()
	}
}

// tellOtherRoots makes the server ask for roots again, before its next call.
func (c *Connection) tellOtherRoots() {
	c.early.ToldRoots()
	if c.gate().Check(protocol.Client, rootsChanged, nil) == nil {
		c.send(jsonrpc.Notification(rootsChanged, nil))
		c.pingFirst()
	}
}

// pingFirst makes calls wait until it is known whether the server asks something first.
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

// pingStart is pingFirst for a server that takes calls before it has answered anything since its
// handshake, if the server may ask for roots.
func (c *Connection) pingStart() {
	if (c.o.Key.Instance > 0 || c.listing.busy()) && c.facts.Version.Era() == protocol.Legacy &&
		c.gate().Check(protocol.Server, "roots/list", nil) == nil {
		c.pingFirst()
	}
}

// mayAskBeforeCalls reports whether the server may wait for an answer before its first call.
func (c *Connection) mayAskBeforeCalls() bool { return c.early.Asks(c.p.Now()) }

// waitsForEarlyAnswers reports whether a call waits for such answers. List requests do not: no
// answer changes them.
func (c *Connection) waitsForEarlyAnswers(x *request.Exchange) bool {
	return interactive(x.Method) && c.mayAskBeforeCalls()
}

// boundEarlyWait bounds how long the queued calls wait.
func (c *Connection) boundEarlyWait() {
	if c.state == Ready && len(c.queue) > 0 && c.early.Queued(c.p.Now()) {
		c.p.After(FirstAnswersWait, earlyWaitDue{})
	}
}

// endEarlyWait lets the calls go that have waited. It runs after each message, because any message
// may be the end of a question.
func (c *Connection) endEarlyWait() {
	if c.early.Release(c.p.Now()) {
		c.admitQueued()
	}
}
