package client

import (
	"crypto/sha256"
	"time"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// Some servers send a question on the streams of all their sessions, and take the first answer. The
// host has several sessions with one server, and one of them has the client that is meant. So a
// connection that would refuse a question waits while another has the same question open. Then it
// refuses the question: the server has had its answer and ignores a second one, and a question that
// only looked the same still gets an answer. A question on the stream of a call was sent to this
// session alone.

const (
	// DeclineWait is how long a connection to a URL waits before it refuses a question, if it is not
	// the only connection. It is also how often it checks whether the question is still open at
	// another.
	DeclineWait = time.Second
	// AskedFor is how long a question counts as open at another connection. MaxAsked bounds the
	// questions of one server that do.
	AskedFor = 10 * time.Minute
	MaxAsked = 256
)

// declined is a question that is going to be refused.
type declined struct {
	m       jsonrpc.Message // without its params
	same    [sha256.Size]byte
	cause   error
	attempt uint64
}

// sameQuestion returns a hash that is the same for a question that came over several connections.
func sameQuestion(m jsonrpc.Message) [sha256.Size]byte {
	return sha256.Sum256([]byte(m.Method + " " + m.ID.Raw() + " " + string(m.Params)))
}

// decline refuses a question, unless another connection may have somebody to ask.
func (c *Connection) decline(in transport.Inbound, cause error) {
	m := in.Message
	if !c.remote() || c.o.Known.atMostOneReady() || !in.RequestID.IsZero() {
		c.refuse(m.ID, m.Method, cause)
		return
	}
	same := sameQuestion(m)
	m.Params = nil
	c.p.After(DeclineWait, declined{m, same, cause, c.attempt})
}

// declined refuses a question that is open at no other connection. A question for roots is refused
// in any case: several servers ask it at the start of each session, with the same id every time. If
// another connection can answer it, it has answered by now.
func (c *Connection) declined(d declined) {
	switch {
	case d.attempt != c.attempt:
	case c.elsewhere(d.m.Method, d.same):
		c.p.After(DeclineWait, d)
	default:
		c.refuse(d.m.ID, d.m.Method, d.cause)
	}
}

// elsewhere reports whether the same question is open at another connection.
func (c *Connection) elsewhere(method string, same [sha256.Size]byte) bool {
	return method != "roots/list" && c.remote() && c.o.Known.isAsked(same, c.p.Now())
}
