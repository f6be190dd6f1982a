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

// server is the state that belongs to one server. It ends with the server's transport, session or
// process. The next server starts with what carry and Connection hold, and nothing else.
type server struct {
	up              transport.Upstream
	quit            context.CancelFunc // of the transport; nil while there is none
	handshake       era.Handshake
	facts           Facts
	noAnnouncements bool      // it has no stream for announcements
	resumed         bool      // a parked session is being resumed, and is not ready yet
	closing         bool      // its pipe broke or it lost the session: the end is on its way
	gap             bool      // announcements may have been missed; clients are told soon
	start           otp.Timer // limits how long the start may take
	idleTimer       otp.Timer // idle timer: when to check whether it may sleep
	parking         otp.Timer // when to check whether its session can be parked
	watching        watching  // checks whether its process was stopped

	calls      *inflightRequests  // written or queued in the transport, by our id
	shortcut   *shortcut          // short way for answers that need nothing here
	asked      map[jsonrpc.ID]ask // requests of the host itself, by our id
	unanswered *atomic.Int64      // requests to which its reader has seen no answer
	mrtrCalls  map[uint64]*mrtrCall
	listens    map[jsonrpc.ID]*listenSubscription // subscriptions to a modern server, by our id
	// those that are opened again after a pause, by uri
	paused         map[string]*listenSubscription
	waitingListens []reopenListenDue // those whose pause ended while the server was away
	early          early.Early
	questions      questions.Table[answerer] // questions that clients have not answered
	lines          lateLines                 // answers that wait for log lines
	heldRefusals   []transport.Inbound       // answers held until the identity check is over
	stale          []jsonrpc.ID              // calls that wait for a new list of tools
	withdrawals    withdrawals
}

// reset forgets everything about a server. Messages of it that arrive later are dropped.
func (c *Connection) reset() {
	c.attempt++
	c.linesEnd()
	c.closeAll()
	c.dropLines()
	c.shortcut.close()
	c.start.Stop()
	c.idleTimer.Stop()
	c.parking.Stop()
	c.watching.stop()
	c.server = server{
		calls: newInflightRequests(), asked: map[jsonrpc.ID]ask{}, unanswered: new(atomic.Int64),
		mrtrCalls: map[uint64]*mrtrCall{}, listens: map[jsonrpc.ID]*listenSubscription{},
		paused: map[string]*listenSubscription{},
	}
	c.shortcut = newShortcut(c)
	c.countEarly()
	c.listing.reset()
	c.interest.Reset()
}
