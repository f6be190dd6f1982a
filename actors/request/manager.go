// Package request holds the request manager: the actor that is in charge of every exchange of one tenant from its admission to its one
// outcome. It knows who asked and until when; it does not know what a request means, and writes to no server itself.
package request

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"mcpd/gateway/quota"
	"mcpd/internal/water"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Options are what a manager is made from.
type Options struct {
	Tenant string
	// Pending bounds the exchanges in flight (S4-57), as it is configured now.
	Pending func() int
	Most    *water.Mark // of them
	// OfPrincipal bounds those of one principal; nil, or 0, is no bound.
	OfPrincipal func() int
	// Kept is what the tenant keeps, which bounds the params of the exchanges in flight. Nil does not.
	Kept  *quota.Account
	Meter Meter
	// Failed counts an error that a client is sent, by its code. Nil counts none.
	Failed func(code int64)
	Emit   telemetry.Sink
}

// whole is the options with what may be left out.
func (o Options) whole() Options {
	if o.Failed == nil {
		o.Failed = func(int64) {}
	}
	if o.OfPrincipal == nil {
		o.OfPrincipal = func() int { return 0 }
	}
	return o
}

// Manager is the behaviour of tenants/<t>/request_manager. Its table is its heir: exchanges go on with
// their deadlines when it crashes.
type Manager struct {
	o     Options
	p     *otp.Process
	table *Table
	timer otp.Timer
	armed time.Time // when the timer fires; zero while it is not set
}

// New makes one incarnation.
func New(o Options) *Manager { return &Manager{o: o.whole()} }

// expire is the one timer.
type expire struct{}

func all(*Exchange) bool { return true }

// Init takes over the exchanges in flight.
func (m *Manager) Init(p *otp.Process) error {
	m.p = p
	if !m.inherit(p) {
		m.table = NewTable(m.o)
	}
	p.SetHeir(&estate{m.table})
	for _, x := range m.table.Such(all) {
		p.Monitor(x.Upstream)
		p.Monitor(x.Held().Ref)
	}
	m.expire()
	return nil
}

// Receive handles one message.
func (m *Manager) Receive(_ *otp.Process, msg any) error {
	switch msg := msg.(type) {
	case *Submit:
		m.submit(msg.Exchange)
	case *Park:
		m.extend(msg.ID, func(w *watch) { w.park(m.p.Now(), msg.For) })
	case *Unpark:
		m.extend(msg.ID, func(w *watch) { w.unpark(m.p.Now()) })
	case *Cancel:
		if x := m.table.Get(msg.ID); x != nil {
			m.withdraw(x, "cancelled by the client")
			x.Settle(Outcome{How: Cancelled})
		}
	case *CancelOwner:
		m.cancel(func(x *Exchange) bool { return x.Session == msg.Session }, sessionGone)
	case *Stop:
		m.cancel(all, stopping)
	case *Pending:
		msg.Reply(m.pending(msg.Req))
	case otp.Down:
		m.stuck(msg)
	case expire:
		m.armed = time.Time{}
		m.expire()
	}
	return nil
}

// Terminate ends what is in flight when the manager stops for good. After a crash the next
// incarnation goes on with it.
func (m *Manager) Terminate(p *otp.Process, reason error) {
	if otp.IsNormal(reason) {
		(&estate{m.table}).Abandon(reason)
		p.SetHeir(nil)
	}
}

// submit takes an exchange on and hands it to its connection.
func (m *Manager) submit(x *Exchange) {
	until, err := m.table.Take(m.p.Now(), x)
	if err != nil {
		told := protocol.Translate(err, x.Version)
		m.o.Emit(Rejected(m.where(x), x.Method, x.Params, x.Sink, err, told))
		x.Settle(Outcome{How: Refused, Err: err})
	}
	if until.IsZero() {
		return
	}
	m.arm(until)
	m.p.Monitor(x.Upstream)
	if err := m.p.Pass(x.Upstream, x.forwarded()); err != nil {
		x.Settle(Outcome{Err: untaken(x, err)})
	}
}

// untaken says why a connection did not take an exchange: it has too much to do, or is gone.
func untaken(x *Exchange, err error) error {
	if errors.Is(err, otp.ErrOverloaded) {
		return protocol.Overloaded("connection to server "+x.Server, time.Second)
	}
	return protocol.UpstreamLost(x.Server, false, err)
}

// arm sets the timer when it is not set, or set too late. One that is set too early is left: it
// fires, finds nothing due, and is set anew, which is cheaper than to move it with every outcome.
func (m *Manager) arm(at time.Time) {
	if !m.armed.IsZero() && !at.Before(m.armed) {
		return
	}
	m.timer.Stop()
	m.armed = at
	m.timer = m.p.After(at.Sub(m.p.Now()), expire{})
}

// extend changes how long an exchange may still take.
func (m *Manager) extend(id uint64, change func(*watch)) {
	if at, ok := m.table.extend(id, change); ok {
		m.arm(at)
	}
}

// expire ends what is due.
func (m *Manager) expire() {
	now := m.p.Now()
	for _, x := range m.table.Due(now) {
		m.withdraw(x, "timeout")
		executed := x.Over()
		late := protocol.Timeout(now.Sub(x.watch.started).Round(time.Millisecond))
		late = late.Unanswered(x.Server, executed).Repeating(x.Method)
		if why := x.WaitsFor(); why != nil && !executed {
			late = late.Because(why)
		}
		x.Settle(Outcome{How: TimedOut, Err: late})
	}
	if at, ok := m.table.Next(now); ok {
		m.arm(at)
	}
}

// withdraw has whoever has an exchange in hand forget it. It is claimed for its end first: whoever
// crashes of this and comes back sees by it that there is nothing to go on with.
func (m *Manager) withdraw(x *Exchange, reason string) {
	x.Over()
	_ = m.p.Send(x.Held().Ref, &Withdraw{ID: x.ID, Reason: reason})
}

// cancel ends such exchanges, and says of each whether it may have been executed.
func (m *Manager) cancel(such func(*Exchange) bool, why func(*Exchange) *protocol.Error) {
	for _, x := range m.table.Such(such) {
		err := why(x)
		m.withdraw(x, protocol.ConditionOf(err).String())
		x.Settle(Outcome{How: Cancelled, Err: err})
	}
}

// sessionGone is why an exchange ends with its session, which also ends without its client, as with
// its tenant.
func sessionGone(x *Exchange) *protocol.Error {
	return protocol.SessionGone().Unanswered(x.Server, x.Over()).Repeating(x.Method)
}

func stopping(x *Exchange) *protocol.Error {
	return protocol.Stopping(x.Server, x.Over()).Repeating(x.Method)
}

// stuck ends what a connection had in hand that was replaced because it is stuck: what it knew is
// given up with it, as it may come back and change it. What its successor has taken meanwhile is not
// its, nor is what it had handed to others: with it goes whoever would have heard of their ends, so
// that is the manager from now on. Any other end the connection tells itself, or its next incarnation
// does.
func (m *Manager) stuck(d otp.Down) {
	if !errors.Is(d.Reason, otp.ErrStuck) {
		return
	}
	for _, x := range m.table.Such(func(x *Exchange) bool { return x.Upstream == d.Ref }) {
		m.p.Monitor(x.Held().Ref)
	}
	its := Hold{d.Ref, d.Incarnation}
	for _, x := range m.table.Such(func(x *Exchange) bool { return x.Held() == its }) {
		lost := protocol.UpstreamLost(x.Server, x.Over(), d.Reason).Repeating(x.Method)
		x.Settle(Outcome{How: Lost, Err: lost})
	}
}

// pending describes the exchanges in flight, oldest first.
func (m *Manager) pending(q PendingQuery) []Info {
	list := m.table.Pending(func(x *Exchange) bool { return q.Session == "" || q.Session == x.Session })
	slices.SortStableFunc(list, func(a, b Info) int { return a.Started.Compare(b.Started) })
	return list
}

func (m *Manager) where(x *Exchange) telemetry.Where {
	return telemetry.Where{
		Tenant: m.o.Tenant, Server: x.Server, Session: x.Session, Exchange: strconv.FormatUint(x.ID, 10),
	}
}
