// Package client holds the upstream connection: the actor that is an MCP client towards one server. It dials, shakes hands, learns the
// server's lists, writes calls and reads their answers. It does not know which programs or URLs there are, who may call, or how many
// servers make one list; a dialer, the request manager and the catalogue do.
package client

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"mcpd/actors/client/internal/early"
	"mcpd/actors/client/internal/era"
	"mcpd/actors/client/internal/interest"
	"mcpd/actors/client/internal/questions"
	"mcpd/actors/internal/drops"
	"mcpd/actors/request"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/protocol/inflight"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rounds"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// Connection is the behaviour of an upstream connection.
type Connection struct {
	otp.Base
	o Options
	p *otp.Process
	*carry

	self       *request.Hold // this incarnation, as who has calls in hand
	up         transport.Upstream
	state      State
	handshake  era.Handshake // with this server
	facts      Facts
	unheard    bool // the server has no stream to announce anything on
	started    time.Time
	peeked     *Ending            // what a starting program has printed; nil for nothing
	calls      *flights           // written or queued in the transport, by our id
	way        *shortcut          // of answers that need nothing here
	asked      map[jsonrpc.ID]ask // what the host itself asked, by our id
	ids        inflight.Counter
	unanswered *atomic.Int64 // requests that its reader has seen no answer to
	early      early.Early
	questions  questions.Table[answerer] // that clients have not answered
	dialogs    questions.Dialogs
	drives     map[uint64]*drive
	listens    map[jsonrpc.ID]*listen // subscriptions to a modern server, by our id
	renewals   pace                   // of sessions that the server forgot
	renewed    allowance              // of those that are no reason to wait
	absence    absence                // of a server behind a URL
	gaveUp     bool                   // it ends, as one whose restart budget ran out
	gap        bool                   // announcements may have been missed, which is going to be told
	gaps       pace
	quit       context.CancelFunc  // of the transport; nil while there is none
	attempt    uint64              // counts the transports, so that what is late of one is told from the next
	doubted    []transport.Inbound // answers that are kept until it is known whether the server is another
	identity   era.Identity        // of the server behind a URL
	stale      []jsonrpc.ID        // calls that wait for the list of tools

	start, linger  otp.Timer
	watching       watching    // whether the server was stopped
	parking        otp.Timer   // when it is looked at whether its session can be parked
	closed         string      // why it was closed last, in a word
	forgotten      bool        // the server has said that it lost the session: the end is on its way
	resumed        bool        // it goes on with a session that was parked, and is not ready yet
	drowsy         otp.Timer   // when it is looked at whether the server may sleep
	until          time.Time   // it is needed at least, because of what it did or holds
	patient        bool        // those who wait for their turn are going to be looked at
	stuffed        bool        // the first in the queue found no room in the server's input
	trying         bool        // it is going to be tried again
	shown          Status      // what the tree shows
	asks           bool        // the server may ask its clients something
	drops          drops.Drops // of what the server sent and nobody gets
	lines          lateLines   // answers that wait for log lines
	withdrawals    served      // whose calls were withdrawn
	withdrawnUntil time.Time   // when the server speaks of those no more
}

// New makes one incarnation.
func New(o Options) *Connection {
	if o.Known == nil {
		o.Known = &Known{}
	}
	if o.QuestionWait == nil {
		o.QuestionWait = func() time.Duration { return protocol.QuestionWait }
	}
	return &Connection{o: o, asks: o.Declare.Fingerprint().Asks()}
}

// Messages that only this connection sends itself.
type (
	dialled struct {
		up      transport.Upstream
		attempt uint64
	}
	inbound struct {
		in      transport.Inbound
		attempt uint64
		number  uint64        // what its shortcut calls it
		handled chan struct{} // closed when it was; nil where nobody waits for that
	}
	startExpired struct{}
	redial       struct{ attempt uint64 }
	askExpired   struct{ id jsonrpc.ID }
	exhausted    struct{}
	heldUp       struct{ wait time.Duration } // its server, by how fast it is read
	lingered     struct{}
)

// Init answers what the previous incarnation had written and lost, and starts to dial.
func (c *Connection) Init(p *otp.Process) error {
	c.p, c.self = p, &request.Hold{Ref: p.Self(), Incarnation: p.Incarnation()}
	var ok bool
	if c.carry, ok = p.Heir().(*carry); ok {
		c.carry.resume(c.o)
	} else {
		c.carry = newCarry(c.o)
		p.SetHeir(c.carry)
		if c.o.Forgot != nil && p.Incarnation() > 1 {
			c.o.Forgot(p.Self())
		}
	}
	c.renewals, c.gaps = pace{first: FirstRenewal, last: LastRenewal}, pace{first: FirstGap, last: LastGap}
	c.renewed = allowance{of: c.o.Intensity}
	if c.readyAt.IsZero() {
		c.readyAt = c.p.Now()
	}
	c.lost(c.o.Server, c.p.Now())
	for _, s := range order.Of(c.clients.here()) {
		p.Monitor(s.ref)
	}
	for ref := range c.instances.All() {
		p.Monitor(ref)
	}
	if c.primary != (otp.Ref{}) {
		p.Monitor(c.primary)
	}
	if c.removed && p.Incarnation() > 1 { // it is not started again
		c.reset()
		return p.Post(Stop{Why: Removed(nil)})
	}
	c.begin(0)
	return nil
}

// Receive handles one message.
func (c *Connection) Receive(p *otp.Process, msg any) error {
	err := c.receive(p, msg)
	switch {
	case err == nil:
		c.firstOver()
		c.tellAsking()
		c.attend()
		return nil
	case c.removed:
		return otp.ShutdownWith(Removed(c.blame(err)))
	case otp.IsNormal(err):
		return err
	}
	return toldEnd{err}
}

func (c *Connection) receive(p *otp.Process, msg any) error {
	switch m := msg.(type) {
	case *request.Forward:
		m.Exchange.Take(c.self)
		c.forward(m.Exchange)
	case inbound:
		if m.handled != nil {
			defer close(m.handled)
		}
		if m.attempt == c.attempt {
			defer c.way.reached(m.number)
			return c.final(c.inbound(m.in))
		}
	case spared:
		c.spared(m)
	case *request.Withdraw:
		c.withdraw(m)
	case *Answer:
		c.answer(m)
	case *Attach:
		c.attach(m)
	case *Want:
		c.want(m)
	case *Tell:
		c.tell(m)
	case Retire:
		c.retire(m.Removed)
	case Stop:
		return otp.ShutdownWith(m.Why)
	case Restart:
		c.restart(m.Why)
	case Describe:
		c.publish(nil, nil)
	case *Left:
		c.regain(m)
	case otp.Down:
		c.down(m)
	case Release:
		c.letGo(m.Ref)
	case parkDue:
		c.park()
	case listened:
		c.listenedTo(m)
	case Detach:
		c.detach(m.Ref)
	case dialled:
		if m.attempt == c.attempt {
			return c.dialled(m.up)
		}
	case otp.Done:
		if end, ok := errors.AsType[ended](m.Err); !ok {
			return m.Err
		} else if end.attempt == c.attempt {
			return c.over(end.error)
		}
	case redial:
		if m.attempt == c.attempt {
			c.dial()
		}
	case refetch:
		_ = c.listed(func(s *listStep) { s.due(m.kind) })
	case listsLate:
		c.listsLate(m)
	case gapTold:
		c.missedAny()
	case startExpired:
		return c.startExpired()
	case askExpired:
		return c.final(c.askExpired(m.id))
	case holdOver:
		c.holdOver(m)
	case earlyLinesOver:
		c.earlyLinesOver(m)
	case rootsDue:
		c.tellRoots()
	case declined:
		c.declined(m)
	case driveDue:
		c.driven(m.exchange, rounds.Event{Op: rounds.Expire})
	case driveFailed:
		c.driven(m.exchange, rounds.Event{Op: rounds.Fail, Err: m.err})
	case driveRefused:
		c.driven(m.exchange, rounds.Event{Op: rounds.Refuse, Question: m.question, Err: m.err})
	case relisten:
		c.listenAgain(m.l)
	case lateAck:
		c.lateAck(c.listens[m.id])
	case exhausted:
		return inflight.ErrExhausted
	case heldUp:
		c.o.Emit(telemetry.UpstreamPaced{Where: c.where(), For: m.wait})
	case lingered:
		c.idle()
	case looked:
		c.look()
	case roomy:
		c.retry()
	case peekDue:
		c.peek(m)
	case drowsed:
		c.maybeSleep()
	case reportDue:
		c.due(m.f)
	case linesDue:
		c.linesOver(m.id)
	case interestDue:
		c.interested(interest.Event{Op: m.op})
	case firstDue: // see firstOver
	case refusedAnswerDue:
		c.endRefused(m)
	case drops.Due:
		c.drops.Due(p, c.o.Emit)
	default:
		if err, handled := c.leads(msg); handled {
			return err
		}
		c.amongInstances(msg)
	}
	return nil
}

// Terminate is where every incarnation ends, and where it is remembered why.
func (c *Connection) Terminate(_ *otp.Process, reason error) {
	defer c.o.Known.isNot(c.p.Self())
	defer c.closeAll()
	c.linesEnd()
	c.dropLines()
	c.drops.End(c.o.Emit)
	if otp.IsNormal(reason) {
		c.endParked()
	}
	var why *Ending
	if otp.IsNormal(reason) && !errors.As(reason, &why) { // a built-in server that stops with the host
		for id := range c.questions.All() {
			c.dropQuestion(id)
		}
		return
	}
	cause := c.blame(reason)
	c.abandon(cause)
	if cause.Permanent {
		c.enter(Quarantined, cause)
	} else {
		c.enter(Backoff, cause)
	}
}

// enter publishes a state to the tree and the catalogue.
func (c *Connection) enter(s State, cause error) {
	c.state = s
	c.o.Known.isNot(c.p.Self())
	c.publish(cause, nil)
}
