package client

import (
	"errors"
	"time"

	"mcpd/actors/client/internal/interest"
	"mcpd/actors/internal/drops"
	"mcpd/actors/request"
	"mcpd/protocol/inflight"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rounds"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// Messages that a connection sends to itself only.
type (
	dialled struct {
		up      transport.Upstream
		attempt uint64
	}
	inbound struct {
		in      transport.Inbound
		attempt uint64
		number  uint64        // its number in the shortcut
		handled chan struct{} // closed once it was handled; nil where nobody waits for that
	}
	startExpired struct{}
	redial       struct{ attempt uint64 }
	askExpired   struct{ id jsonrpc.ID }
	exhausted    struct{}
	// how long the pace of the reader has held up its server
	readThrottled struct{ wait time.Duration }
	lingerOver    struct{}
)

// Receive handles one message.
func (c *Connection) Receive(p *otp.Process, msg any) error {
	err := c.receive(p, msg)
	switch {
	case err == nil:
		c.endEarlyWait()
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
		m.Exchange.SetHolder(c.self)
		c.forward(m.Exchange)
	case inbound:
		if m.handled != nil {
			defer close(m.handled)
		}
		if m.attempt == c.attempt {
			defer c.shortcut.reached(m.number)
			return c.final(c.inbound(m.in))
		}
	case endedWithoutActor:
		c.spared(m)
	case *request.Withdraw:
		c.withdraw(m)
	case *Answer:
		c.answer(m)
	case *Attach:
		c.attach(m)
	case *SetSubscriptionIntent:
		c.setIntent(m)
	case *ClientNotification:
		c.forwardNotification(m)
	case Retire:
		c.retire(m.Removed)
	case Stop:
		return otp.ShutdownWith(m.Why)
	case Restart:
		c.restart(m.Why)
	case Describe:
		c.publish(nil, nil)
	case *AbandonedState:
		c.restoreAbandoned(m)
	case otp.Down:
		c.down(m)
	case Release:
		c.releaseSession(m.Ref)
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
		_ = c.stepLists(func(s *listStep) { s.due(m.kind) })
	case listsLate:
		c.listsLate(m)
	case gapPauseOver:
		c.treatAllAsChanged()
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
	case reopenListenDue:
		c.listenAgain(m)
	case ackTimeout:
		c.ackTimedOut(c.listens[m.id])
	case exhausted:
		return inflight.ErrExhausted
	case readThrottled:
		c.o.Emit(telemetry.UpstreamPaced{Where: c.where(), For: m.wait})
	case lingerOver:
		c.idle()
	case looked:
		c.look()
	case roomRetryDue:
		c.retry()
	case peekDue:
		c.peek(m)
	case idleTimerDue:
		c.maybeSleep()
	case progressDue:
		c.progressDue(m.f)
	case linesDue:
		c.linesOver(m.id)
	case interestDue:
		if m.attempt == 0 || m.attempt == c.attempt {
			c.stepInterest(interest.Event{Op: m.op, URI: m.uri})
		}
	case earlyWaitDue: // see endEarlyWait
	case refusedAnswerDue:
		c.endRefused(m)
	case drops.Due:
		c.drops.Due(p, c.o.Emit)
	default:
		if err, handled := c.handleAbsence(msg); handled {
			return err
		}
		c.amongInstances(msg)
	}
	return nil
}
