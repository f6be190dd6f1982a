package client

import (
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// completes is the method by which a server says that an elicitation is complete.
const completes = "notifications/elicitation/complete"

// elicits records that a session is asked to visit a page. A client of a revision without
// elicitation ids is never told of the end, so nothing is recorded for it.
func (c *Connection) elicits(q *Question, o *openQuestion, session string) {
	if o.Client != 0 && !o.Client.Has(protocol.ElicitationIDs) {
		return
	}
	if id, ok := mrtr.ElicitationID(q.Method, q.Params); ok {
		c.noteElicitation(id, session, o.To.Owner)
	}
}

// elicitsByError records the pages without which the server ended a call.
func (c *Connection) elicitsByError(x *request.Exchange, e *jsonrpc.Error) {
	if e.Code != protocol.CodeURLElicitationRequired || !x.Version.Has(protocol.ElicitationIDs) {
		return
	}
	for _, id := range mrtr.ElicitationIDs(e.Data) {
		c.noteElicitation(id, x.Session, x.Owner)
	}
}

// noteElicitation remembers who is to be told of the end of an elicitation. Its server is kept for
// it as for any answer of a user.
func (c *Connection) noteElicitation(id, session string, to request.Owner) {
	c.elicitations.Add(id, session, to)
	if c.o.Idle > 0 {
		c.staysAwake(AnswerTime)
	}
}

// completed tells the sessions that were given the id of an elicitation that it is complete. An id
// that nobody was given is dropped and counted.
func (c *Connection) completed(m jsonrpc.Message) {
	if err := c.gate().Check(protocol.Server, m.Method, m.Params); err != nil {
		c.undelivered(m.Method, "undeclared")
		return
	}
	id, _ := jsonedit.GetString(m.Params, "elicitationId")
	asked := c.elicitations.Take(id)
	if len(asked) == 0 {
		c.undelivered(m.Method, unowned)
	}
	for _, a := range asked {
		if c.p.Send(a.To, &ElicitationCompleted{Server: c.o.Server, ID: id, Params: m.Params}) != nil {
			c.undelivered(m.Method, "slow_consumer")
		}
	}
}
