// Package notification holds the notification dispatcher: the actor that distributes the
// notifications of servers to their listeners. It does not look into notifications, and knows no
// session's state.
package notification

import (
	"errors"
	"reflect"
	"time"

	"mcpd/actors/internal/drops"
	"mcpd/gateway/quota"
	"mcpd/internal/highwater"
	"mcpd/protocol/subscription"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Bounds of one turn, which is the handling of one message. A registration, a stop or the watch for
// stuck actors waits for one turn at most.
const (
	// Burst is how many queued notifications are begun in one turn.
	Burst = 64
	// MaxDeliveries is how many handlers are called in one turn, whatever the number of listeners:
	// some milliseconds of work.
	MaxDeliveries = 1024
)

// Options configure a Dispatcher.
type Options struct {
	Tenant string
	Emit   telemetry.Sink
	Most   *highwater.Mark // high-water mark of waiting notifications
	Kept   *quota.Account  // byte budget of the tenant
	// Lost is called by an incarnation that has lost the registrations of its predecessors, so that
	// the listeners register again. It may be nil.
	Lost func()
}

// Dispatcher is the behaviour of tenants/<t>/notification_dispatcher.
type Dispatcher struct {
	o        Options
	p        *otp.Process
	draining bool
	drops    drops.Drops
	shown    Status
	echoes   deduplicator
	timed    bool // the timer for echoes is set
	*carriedState
}

// carriedState is the carried state: the registrations and the notifications that are not delivered
// yet.
type carriedState struct {
	table subscription.Table[Handler]
	queue subscription.Queue[*Notice]
	// current is the delivery of the notification begun last; the next incarnation continues it.
	current   delivery
	poison    map[Handler]bool // handlers that have crashed an incarnation
	away      map[Handler]bool // handlers for which no connection is kept
	delivered uint64
	poisonous uint64
}

// drain is a message of the dispatcher to itself while notifications are queued: one at a time, so
// that there is always space for it.
type drain struct{}

// Class says that a drain is reserved: without it the queue would stand still until the
// next notification.
func (drain) Class() otp.Class { return otp.Reserved }

// dispatch is the type of the only message that is lost when the dispatcher crashes on it.
var dispatch = reflect.TypeFor[*Dispatch]()

// New makes one incarnation.
func New(o Options) *Dispatcher { return &Dispatcher{o: o} }

// Init restores the registrations and the queue. The handler that was being called when the
// previous incarnation crashed does not get that notification again. The delivery continues with
// the next handler.
func (d *Dispatcher) Init(p *otp.Process) error {
	d.p = p
	var restored bool
	if d.carriedState, restored = p.CarriedState().(*carriedState); !restored {
		d.carriedState = &carriedState{away: map[Handler]bool{}}
		d.queue.Size = (*Notice).size
		d.count()
		p.SetCarriedState(d.carriedState)
		if d.o.Lost != nil && p.Incarnation() > 1 {
			d.o.Lost()
		}
		return nil
	}
	d.queue.Size = (*Notice).size
	d.count()
	if h, crashed := d.current.interrupted(); crashed {
		d.poisoned(d.current.notice)
		d.suspect(h)
	}
	for h := range d.table.All() {
		if box, ok := h.(Mailbox); ok {
			p.Monitor(box.Ref)
		}
	}
	d.wake()
	return nil
}

// Status is the state that the tree shows of a dispatcher.
type Status struct{ away, echoes int }

// Records yields the number of listeners that are away, and of changes that other instances may
// report again.
func (s Status) Records(yield func(kind string, n int) bool) {
	_ = yield("away_listeners", s.away) && yield("told_changes", s.echoes)
}

// Receive handles one message.
func (d *Dispatcher) Receive(_ *otp.Process, msg any) error {
	d.receive(msg)
	if now := (Status{len(d.away), len(d.echoes.by)}); now != d.shown {
		d.shown = now
		d.p.SetStatus(d.shown)
	}
	return nil
}

func (d *Dispatcher) receive(msg any) {
	switch m := msg.(type) {
	case *Dispatch:
		n := (*Notice)(m)
		echo := d.echoes.echo(n, d.p.Now())
		d.forgetEchoes()
		if echo {
			return
		}
		// A notification of a change is accepted even so: it is small, and its loss would leave clients
		// with old state.
		full := !subscription.IsChange(n.Method) && !d.o.Kept.Fits(n.size())
		if full || !d.queue.Push(n.replaceKey(), n) {
			d.dropped(n, "queue_full")
			return
		}
		d.count()
		d.o.Most.Note(d.queue.Len())
		d.wake()
	case *Register:
		delete(d.away, m.Handler)
		d.table.Subscribe(m.Handler, subscription.Topic{
			Method: m.Method, Server: m.Server, Connection: connectionName(m.Key),
		})
		if box, ok := m.Handler.(Mailbox); ok {
			d.p.Monitor(box.Ref)
		}
	case *Away:
		if d.table.Has(m.Handler) {
			d.away[m.Handler] = true
		}
	case *HasListeners:
		m.Reply(d.heard(m.Req))
	case *Forget:
		d.forget(m.Handler)
	case otp.Down:
		d.forget(Mailbox{m.Ref})
	case drain:
		d.draining = false
		d.drain()
	case echoesDue:
		d.timed = false
		d.echoes.forget(d.p.Now())
		d.forgetEchoes()
	case drops.Due:
		d.drops.Due(d.p, d.o.Emit)
	case *Stats:
		m.Reply(Counts{
			Handlers: d.table.Len(), Queued: d.queued(), Delivered: d.delivered,
			Dropped: d.queue.Dropped() + d.poisonous,
		})
	}
}

// forgetEchoes starts the timer after which old echoes are dropped, unless it runs or there are
// none.
func (d *Dispatcher) forgetEchoes() {
	if !d.timed && len(d.echoes.by) > 0 {
		d.timed = true
		d.p.After(DuplicateTime+time.Millisecond, echoesDue{})
	}
}

// Terminate counts the notification on which the dispatcher crashed before it was queued, and
// reports all drops.
func (d *Dispatcher) Terminate(_ *otp.Process, reason error) {
	var crash *otp.CrashReport
	if errors.As(reason, &crash) && crash.Message == dispatch {
		d.poisoned(&Notice{})
	}
	d.drops.End(d.o.Emit)
	if otp.IsNormal(reason) {
		d.o.Kept.Set(quota.Notifications, 0)
	}
}

// count sets the bytes of the queue, and of the notification being delivered, in the byte budget.
func (d *Dispatcher) count() {
	n := d.queue.Bytes()
	if d.current.notice != nil {
		n += d.current.notice.size()
	}
	d.o.Kept.Set(quota.Notifications, n)
}

// wake makes sure that the queue is being drained.
func (d *Dispatcher) wake() {
	if d.draining || d.queued() == 0 {
		return
	}
	d.draining = d.p.Post(drain{}) == nil
}

// queued returns how many notifications have not reached all their listeners yet.
func (k *carriedState) queued() int {
	n := k.queue.Len()
	if k.current.notice != nil {
		n++
	}
	return n
}

// drain delivers for one turn, in order.
func (d *Dispatcher) drain() {
	defer d.count()
	begun := 0
	for range MaxDeliveries {
		for d.current.over() {
			_, n, ok := d.queue.Pop()
			if !ok {
				d.current.end()
				return
			}
			d.current.begin(n, d.table.Match(n.about(), n.topics()...))
			if begun++; begun == Burst {
				d.wake()
				return
			}
		}
		d.tell(d.current.next())
		d.current.done()
		d.p.Progress()
	}
	d.wake()
}

// tell passes the current notification to one handler, unless the handler was removed since the
// delivery began.
func (d *Dispatcher) tell(h Handler) {
	if !d.table.Has(h) {
		return
	}
	take := h.take
	if d.poison[h] {
		take = recovering(h)
	}
	switch err := take(d.p, d.current.notice); {
	case err == nil:
		d.delivered++
	case errors.Is(err, otp.ErrNoProc):
		d.forget(h)
	case errors.Is(err, errPoison):
		d.poisoned(d.current.notice)
		d.forget(h)
	default:
		d.dropped(d.current.notice, "slow_consumer")
	}
}

func (d *Dispatcher) forget(h Handler) {
	d.table.Drop(h)
	delete(d.poison, h)
	delete(d.away, h)
}

// heard reports whether a connection is kept for a listener.
func (d *Dispatcher) heard(r HasListenersRequest) bool {
	// Any method will do, except a change of a list, which covers other topics: see subscription.All.
	about := subscription.Topic{
		Method: "notifications/message", Server: r.Server, Connection: connectionName(r.Key),
	}
	for h := range d.table.Match(about) {
		if !d.away[h] {
			return true
		}
	}
	return false
}

// poisoned counts a delivery that has crashed the dispatcher.
func (d *Dispatcher) poisoned(n *Notice) {
	d.poisonous++
	d.dropped(n, "poisonous")
}

func (d *Dispatcher) dropped(n *Notice, reason string) {
	d.drops.Drop(d.p, d.o.Emit, telemetry.NotificationDropped{
		Where: telemetry.Where{Tenant: d.o.Tenant, Server: n.Server}, Method: n.Method, Reason: reason,
		Count: 1,
	})
}
