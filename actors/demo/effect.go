package demo

import (
	"time"

	"mcpd/protocol/jsonrpc"
)

// effect is what the core wants done. The actor does it.
type effect interface{ effect() }

// send puts a message on the wire. Related is the client's request it belongs to, zero for none.
type send struct {
	message jsonrpc.Message
	related jsonrpc.ID
}

// breakStream asks the transport to close the stream of a request while the call goes on; the client is to come back after retry.
type breakStream struct {
	related jsonrpc.ID
	retry   time.Duration
}

// wait calls Wake with w after d. A call waits for one thing at a time: a new wait replaces the one before.
type wait struct {
	w wake
	d time.Duration
}

// rest says that a call waits no more.
type rest struct{ call uint64 }

// wake names the call, and the point it had reached, that a wait was for.
type wake struct {
	call  uint64
	stage int
}

func (send) effect()        {}
func (breakStream) effect() {}
func (wait) effect()        {}
func (rest) effect()        {}
