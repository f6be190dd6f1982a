package client

import (
	"context"
	"sync/atomic"

	"mcpd/actors/client/internal/early"
	"mcpd/actors/client/internal/era"
	"mcpd/actors/client/internal/questions"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// server is what there is of one server, and ends with it: with its transport, its session or its
// process. The next begins with nothing but what carry and Connection hold.
type server struct {
	up        transport.Upstream
	quit      context.CancelFunc // of the transport; nil while there is none
	handshake era.Handshake
	facts     Facts
	unheard   bool      // it has no stream to announce anything on
	resumed   bool      // it goes on with a session that was parked, and is not ready yet
	closing   bool      // its pipe is broken or it lost the session: the end is on its way
	gap       bool      // announcements may have been missed, which is going to be told
	start     otp.Timer // it may take so long
	drowsy    otp.Timer // when it is looked at whether it may sleep
	parking   otp.Timer // when it is looked at whether its session can be parked
	watching  watching  // whether it was stopped

	calls       *flights           // written or queued in the transport, by our id
	way         *shortcut          // of answers that need nothing here
	asked       map[jsonrpc.ID]ask // what the host itself asked, by our id
	unanswered  *atomic.Int64      // requests that its reader has seen no answer to
	drives      map[uint64]*drive
	listens     map[jsonrpc.ID]*listen // subscriptions to a modern server, by our id
	early       early.Early
	questions   questions.Table[answerer] // that clients have not answered
	lines       lateLines                 // answers that wait for log lines
	doubted     []transport.Inbound       // answers that wait until it is known whether it is another
	stale       []jsonrpc.ID              // calls that wait for the list of tools
	withdrawals withdrawals
}

// reset forgets everything about a server. What is still on its way from there is dropped when it
// comes.
func (c *Connection) reset() {
	c.attempt++
	c.linesEnd()
	c.closeAll()
	c.dropLines()
	c.way.shut()
	c.start.Stop()
	c.drowsy.Stop()
	c.parking.Stop()
	c.watching.stop()
	c.server = server{
		calls: newFlights(), asked: map[jsonrpc.ID]ask{}, unanswered: new(atomic.Int64),
		drives: map[uint64]*drive{}, listens: map[jsonrpc.ID]*listen{},
	}
	c.way = newShortcut(c)
	c.countEarly()
	c.listing.reset()
	c.interest.Reset()
}
