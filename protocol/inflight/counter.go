package inflight

import (
	"errors"
	"sync/atomic"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// ErrExhausted says that a connection has no request ids left that it may use. It is to be replaced.
var ErrExhausted = errors.New("request ids of the connection are exhausted")

// Level says how far a counter has come (S4-127).
type Level uint8

// The levels.
const (
	Plenty   Level = iota
	Warn           // 80 %: an operator should know
	Replace        // 90 %: open another connection and move there
	Reserved       // 96 %: no new request; drain and close (S4-128)
)

// String is the level in one word.
func (l Level) String() string { return [...]string{"plenty", "warn", "replace", "reserved"}[l] }

// Counter gives out the ids of the requests on one connection, 1 first. None is given out twice, and none is larger than 2^53-1, which
// peers written in JavaScript would round. One goroutine takes ids; how far it has come is safe for all to ask.
type Counter struct{ last atomic.Uint64 }

// StartAt is a counter whose first id is next: for a connection that takes over from another, and for tests of the thresholds.
func StartAt(next uint64) *Counter {
	c := &Counter{}
	c.last.Store(max(next, 1) - 1)
	return c
}

// Next is a fresh id, or ErrExhausted from the last threshold on.
func (c *Counter) Next() (jsonrpc.ID, Level, error) {
	if c.Level() == Reserved {
		return jsonrpc.ID{}, Reserved, ErrExhausted
	}
	return jsonrpc.IntID(c.last.Add(1)), c.Level(), nil
}

// Last is the id given out last, 0 before the first.
func (c *Counter) Last() uint64 { return c.last.Load() }

// Level is how far the counter has come.
func (c *Counter) Level() Level {
	switch last := c.last.Load(); {
	case last >= protocol.ReservedRequestID:
		return Reserved
	case last >= protocol.ReplaceRequestID:
		return Replace
	case last >= protocol.WarnRequestID:
		return Warn
	}
	return Plenty
}

// Usage is the share of all ids that was given out, from 0 to 1.
func (c *Counter) Usage() float64 { return float64(c.last.Load()) / protocol.MaxRequestID }
