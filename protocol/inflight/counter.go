package inflight

import (
	"errors"
	"sync/atomic"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// ErrExhausted says that a connection has no request ids left to use. The caller has to replace the
// connection.
var ErrExhausted = errors.New("request ids of the connection are exhausted")

// Level is the consumption of a counter's ids.
type Level uint8

// The levels.
const (
	Normal   Level = iota
	Warn           // 80 %: the operator should know
	Replace        // 90 %: open another connection and use it for new requests
	Reserved       // 96 %: send no new request, drain and close
)

// String is the level in one word.
func (l Level) String() string { return [...]string{"plenty", "warn", "replace", "reserved"}[l] }

// Counter assigns the ids of the requests on one connection, starting with 1. It never assigns an
// id twice. No id exceeds 2^53-1, because peers written in JavaScript would round larger ones. Only
// one goroutine may call Next. The other methods are safe for concurrent use.
type Counter struct{ last atomic.Uint64 }

// NewCounterAt returns a counter whose first id is next. It is for a connection that replaces
// another one, and for tests of the levels.
func NewCounterAt(next uint64) *Counter {
	c := &Counter{}
	c.last.Store(max(next, 1) - 1)
	return c
}

// Next returns a new id, or ErrExhausted at level Reserved.
func (c *Counter) Next() (jsonrpc.ID, Level, error) {
	if c.Level() == Reserved {
		return jsonrpc.ID{}, Reserved, ErrExhausted
	}
	return jsonrpc.IntID(c.last.Add(1)), c.Level(), nil
}

// Last is the id assigned last; 0 before the first.
func (c *Counter) Last() uint64 { return c.last.Load() }

// Level is the level of the counter.
func (c *Counter) Level() Level {
	switch last := c.last.Load(); {
	case last >= protocol.ReservedRequestID:
		return Reserved
	case last >= protocol.ReplaceRequestID:
		return Replace
	case last >= protocol.WarnRequestID:
		return Warn
	}
	return Normal
}

// Usage is the share of all ids that was assigned, from 0 to 1.
func (c *Counter) Usage() float64 { return float64(c.last.Load()) / protocol.MaxRequestID }
