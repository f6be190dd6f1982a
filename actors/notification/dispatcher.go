// Package notification holds the notification dispatcher: the actor through which what servers announce reaches whoever wants to hear
// it. It does not look into notifications, and knows no session's state.
package notification

import (
	"errors"
	"reflect"

	"mcpd/actors/internal/drops"
	"mcpd/internal/water"
	"mcpd/protocol/subscription"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Burst is how many queued notifications are delivered in one turn, so that a registration or a stop never waits for a long queue.
const Burst = 64

// Options are what a dispatcher is made from.
type Options struct {
	Tenant string
	Emit   telemetry.Sink
	Most   *water.Mark // of the notifications that wait
	// Forgot is called by an incarnation that does not know what those before it were asked for, so that everybody asks again. Nil asks nobody.
	Forgot func()
}

// Dispatcher is the behaviour of tenants/<t>/notification_dispatcher.
type Dispatcher struct {
	o        Options
	p        *otp.Process
	draining bool
	drops    drops.Drops
	*kept
}

// kept is the heir: who wants what, and what was not delivered yet.
type kept struct {
	table     subscription.Table[Handler]
	queue     subscription.Queue[*Notice]
	inHand    *Notice // being delivered; still here after a crash, because of it
	delivered uint64
	poisonous uint64
}

type drain struct{}

// dispatch is the type of the one message that is lost when the dispatcher crashes on it.
var dispatch = reflect.TypeFor[*Dispatch]()

// New makes one incarnation.
func New(o Options) *Dispatcher { return &Dispatcher{o: o} }

// Init takes over the subscriptions and the queue. The notification that was in hand when the previous incarnation crashed is dropped:
// it would do it again.
func (d *Dispatcher) Init(p *otp.Process) error {
	d.p = p
	var heir bool
	if d.kept, heir = otp.Inherit(p, (*kept).repair); !heir {
		d.kept = &kept{}
		p.SetHeir(d.kept)
		if d.o.Forgot != nil && p.Incarnation() > 1 {
			d.o.Forgot()
		}
		return nil
	}
	if n := d.inHand; n != nil {
		d.inHand = nil
		d.poisonous++
		d.dropped(n, "poisonous")
	}
	for h := range d.table.All() {
		if box, ok := h.(Mailbox); ok {
			p.Monitor(box.Ref)
		}
	}
	d.wake()
	return nil
}

// Receive handles one message.
func (d *Dispatcher) Receive(_ *otp.Process, msg any) error {
	switch m := msg.(type) {
	case *Dispatch:
		n := (*Notice)(m)
		if !d.queue.Push(subscription.Topic{Method: n.Method, Server: n.Server, URI: n.URI, Over: over(n.Key)}, n) {
			d.dropped(n, "queue_full")
			return nil
		}
		d.o.Most.Note(d.queue.Len())
		d.wake()
	case *Register:
		d.table.Subscribe(m.Handler, subscription.Topic{Method: m.Method, Server: m.Server, Over: over(m.Key)})
		if box, ok := m.Handler.(Mailbox); ok {
			d.p.Monitor(box.Ref)
		}
	case *Forget:
		d.table.Drop(m.Handler)
	case otp.Down:
		d.table.Drop(Mailbox{m.Ref})
	case drain:
		d.draining = false
		d.drain()
	case drops.Due:
		d.drops.Due(d.p, d.o.Emit)
	case *Stats:
		m.Reply(Counts{
			Handlers: d.table.Len(), Queued: d.queue.Len(), Delivered: d.delivered, Dropped: d.queue.Dropped() + d.poisonous,
		})
	}
	return nil
}

// Terminate counts the notification that the dispatcher crashed on before it was queued, and tells of all that were dropped.
func (d *Dispatcher) Terminate(_ *otp.Process, reason error) {
	var crash *otp.CrashReport
	if errors.As(reason, &crash) && crash.Message == dispatch {
		d.poisonous++
		d.dropped(&Notice{}, "poisonous")
	}
	d.drops.End(d.o.Emit)
}

// wake makes sure that the queue is being worked off.
func (d *Dispatcher) wake() {
	if d.draining || d.queue.Len() == 0 {
		return
	}
	d.draining = d.p.Post(drain{}) == nil
}

// drain delivers a burst, in order.
func (d *Dispatcher) drain() {
	for range Burst {
		about, n, ok := d.queue.Pop()
		if !ok {
			return
		}
		d.inHand = n
		var gone []Handler // the table must not change while it is gone through
		for h := range d.table.Match(about) {
			switch err := h.take(d.p, n); {
			case err == nil:
				d.delivered++
			case errors.Is(err, otp.ErrNoProc):
				gone = append(gone, h)
			default:
				d.dropped(n, "slow_consumer")
			}
		}
		d.inHand = nil
		for _, h := range gone {
			d.table.Drop(h)
		}
	}
	d.wake()
}

func (d *Dispatcher) dropped(n *Notice, reason string) {
	d.drops.Drop(d.p, d.o.Emit, telemetry.NotificationDropped{
		Where: telemetry.Where{Tenant: d.o.Tenant, Server: n.Server}, Method: n.Method, Reason: reason, Count: 1,
	})
}
