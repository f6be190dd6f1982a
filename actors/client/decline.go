package client

import (
	"crypto/sha256"
	"time"

	"mcpd/protocol/jsonrpc"
)

// Some servers send what they ask on the streams of all their sessions, and take the first answer. The
// host has several sessions with one server, of which one has the client that is meant. So a connection
// that would refuse a question waits whether another has found somebody to ask, and then says nothing.

const (
	// DeclineWait is how long a connection to a URL waits before it refuses a question, if it is not
	// the only one.
	DeclineWait = time.Second
	// AskedFor is how long a question is remembered that another connection has passed on, and MaxAsked
	// how many of one server.
	AskedFor = time.Minute
	MaxAsked = 256
)

// declined is a question that is going to be refused.
type declined struct {
	m       jsonrpc.Message // without its params
	same    [sha256.Size]byte
	why     error
	attempt uint64
}

// sameQuestion is the same for a question that came over several connections.
func sameQuestion(m jsonrpc.Message) [sha256.Size]byte {
	return sha256.Sum256([]byte(m.Method + " " + m.ID.Raw() + " " + string(m.Params)))
}

// decline refuses a question, unless another connection may have somebody to ask.
func (c *Connection) decline(m jsonrpc.Message, why error) {
	if !c.remote() || c.o.Known.alone() {
		c.refuse(m.ID, m.Method, why)
		return
	}
	same := sameQuestion(m)
	m.Params = nil
	c.p.After(DeclineWait, declined{m, same, why, c.attempt})
}

// declined refuses a question that nobody else was asked. One for roots is refused in any case: it is
// asked at the begin of a session, by which several servers call it the same, and its answer was there
// before, if there is one.
func (c *Connection) declined(d declined) {
	if d.attempt != c.attempt || c.elsewhere(d.m.Method, d.same) {
		return
	}
	c.refuse(d.m.ID, d.m.Method, d.why)
}

// elsewhere reports whether another connection has passed a question on.
func (c *Connection) elsewhere(method string, same [sha256.Size]byte) bool {
	return method != "roots/list" && c.remote() && c.o.Known.wasAsked(same, c.p.Now())
}
