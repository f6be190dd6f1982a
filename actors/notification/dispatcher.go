// Package notification holds the notification dispatcher: the actor through which what servers
// announce reaches whoever wants to hear it. It does not look into notifications, and knows no
// session's state.
package notification

import (
	"errors"
	"reflect"
	"time"

	"mcpd/actors/internal/drops"
	"mcpd/gateway/quota"
	"mcpd/internal/water"
	"mcpd/protocol/subscription"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Bounds of one turn, which is the handling of one message. A registration, a stop or the watch for
// stuck actors waits no longer than that.
const (
	// Burst is how many queued notifications are begun in one turn.
	Burst = 64
	// MaxDeliveries is how many handlers are told something in one turn, whatever the number of
	// listeners: some milliseconds of work.
	MaxDeliveries = 1024
)

// Options are what a dispatcher is made from.
type Options struct {
	Tenant string
	Emit   telemetry.Sink
	Most   *water.Mark    // of the notifications that wait
	Kept   *quota.Account // what the tenant keeps
	// Forgot is called by an incarnation that does not know what those before it were asked for, so
	// that everybody asks again. Nil asks nobody.
	Forgot func()
}

// Dispatcher is the behaviour of tenants/<t>/notification_dispatcher.
type Dispatcher struct {
	o        Options
	p        *otp.Process
	draining bool
	drops    drops.Drops
	shown    Status
	echoes   echoes
	timed    bool // echoes are looked at again
	*kept
}

// kept is the heir: who wants what, and what was not delivered yet.
type kept struct {
	table     subscription.Table[Handler]
	queue     subscription.Queue[*Notice]
	current   delivery         // of the notification that was begun last; the next incarnation goes on with it
	poison    map[Handler]bool // handlers that have crashed an incarnation
	away      map[Handler]bool // handlers for which no connection is kept
	delivered uint64
	poisonous uint64
}

// drain is what the dispatcher sends itself while something is queued: one at a time, so that there
// is always room for it.
type drain struct{}

// Class says that a drain is owed: without it the queue would stand still until the next
// notification.
func (drain) Class() otp.Class { return otp.Owed }

// dispatch is the type of the one message that is lost when the dispatcher crashes on it.
var dispatch = reflect.TypeFor[*Dispatch]()

// New makes one incarnation.
func New(o Options) *Dispatcher { return &Dispatcher{o: o} }

// Init takes over the subscriptions and the queue. The handler that was being told something when
// the previous incarnation crashed is not told it again. The delivery goes on with the next one.
func (d *Dispatcher) Init(p *otp.Process) error {
	d.p = p
	var heir bool
	if d.kept, heir = p.Heir().(*kept); !heir {
		d.kept = &kept{away: map[Handler]bool{}}
		d.queue.Size = (*Notice).size
		d.count()
		p.SetHeir(d.kept)
		if d.o.Forgot != nil && p.Incarnation() > 1 {
			d.o.Forgot()
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

// Status is what the tree shows of a dispatcher.
type Status struct{ away, echoes int }

// Records yields the listeners that are away, and the changes of which instances may tell again.
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
		full := !subscription.Change(n.Method) && !d.o.Kept.Fits(n.size()) // a change says little, and would be missed
		if full || !d.queue.Push(n.place(), n) {
			d.dropped(n, "queue_full")
			return
		}
		d.count()
		d.o.Most.Note(d.queue.Len())
		d.wake()
	case *Register:
		delete(d.away, m.Handler)
		d.table.Subscribe(m.Handler, subscription.Topic{Method: m.Method, Server: m.Server, Over: over(m.Key)})
		if box, ok := m.Handler.(Mailbox); ok {
			d.p.Monitor(box.Ref)
		}
	case *Away:
		if d.table.Has(m.Handler) {
			d.away[m.Handler] = true
		}
	case *Heard:
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
			Handlers: d.table.Len(), Queued: d.queued(), Delivered: d.delivered, Dropped: d.queue.Dropped() + d.poisonous,
		})
	}
}

// forgetEchoes has what is remembered of instances forgotten when its time is over.
func (d *Dispatcher) forgetEchoes() {
	if !d.timed && len(d.echoes.by) > 0 {
		d.timed = true
		d.p.After(EchoTime+time.Millisecond, echoesDue{})
	}
}

// Terminate counts the notification that the dispatcher crashed on before it was queued, and tells
// of all that were dropped.
func (d *Dispatcher) Terminate(_ *otp.Process, reason error) {
	var crash *otp.CrashReport
	if errors.As(reason, &crash) && crash.Message == dispatch {
		d.poisoned(&Notice{})
	}
	d.drops.End(d.o.Emit)
	if otp.IsNormal(reason) {
		d.o.Kept.Set(quota.Notices, 0)
	}
}

// count counts what is queued, and the one that is being delivered.
func (d *Dispatcher) count() {
	n := d.queue.Bytes()
	if d.current.notice != nil {
		n += d.current.notice.size()
	}
	d.o.Kept.Set(quota.Notices, n)
}

// wake makes sure that the queue is being worked off.
func (d *Dispatcher) wake() {
	if d.draining || d.queued() == 0 {
		return
	}
	d.draining = d.p.Post(drain{}) == nil
}

// queued is how many notifications have not reached everybody yet.
func (k *kept) queued() int {
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
			d.current.begin(n, d.table.Match(n.about(), n.several()...))
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

// tell hands the current notification to one handler, unless that was forgotten since the delivery
// began.
func (d *Dispatcher) tell(h Handler) {
	if !d.table.Has(h) {
		return
	}
	take := h.take
	if d.poison[h] {
		take = careful(h)
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

// heard reports whether a connection is kept for somebody.
func (d *Dispatcher) heard(r HeardRequest) bool {
	// any method will do that is no change of a list, which covers other topics: see subscription.All
	about := subscription.Topic{Method: "notifications/message", Server: r.Server, Over: over(r.Key)}
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
		Where: telemetry.Where{Tenant: d.o.Tenant, Server: n.Server}, Method: n.Method, Reason: reason, Count: 1,
	})
}
