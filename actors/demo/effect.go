package demo

import (
	"time"

	"mcpd/protocol/jsonrpc"
)

// effect is an action that the core requests and the actor performs.
type effect interface{ effect() }

// send sends a message. Related is the client's request to which the message belongs, zero for
// none.
type send struct {
	message jsonrpc.Message
	related jsonrpc.ID
}

// breakStream asks the transport to close the stream of a request while the call goes on. The
// client should reconnect after retry.
type breakStream struct {
	related jsonrpc.ID
	retry   time.Duration
}

// wait calls Wake with w after d. A call waits for one thing at a time, so a new wait replaces the
// previous one.
type wait struct {
	w wake
	d time.Duration
}

// stopWait says that a call no longer waits.
type stopWait struct{ call uint64 }

// wake identifies a call, and the step at which it waited.
type wake struct {
	call  uint64
	stage int
}

func (send) effect()        {}
func (breakStream) effect() {}
func (wait) effect()        {}
func (stopWait) effect()    {}
