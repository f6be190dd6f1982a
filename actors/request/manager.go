// Package request holds the request manager: the actor that is in charge of every exchange of one
// tenant, from its admission to its one outcome. It knows who sent a request and its deadline. It
// does not know what a request means, and writes to no server itself.
package request

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"mcpd/gateway/quota"
	"mcpd/internal/highwater"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Options configure a Manager.
type Options struct {
	Tenant string
	// Pending bounds the exchanges in flight (S4-57), as currently configured.
	Pending   func() int
	HighWater *highwater.Mark // high-water mark of the exchanges in flight
	// OfPrincipal bounds the exchanges of one principal; nil, or 0, is no bound.
	OfPrincipal func() int
	// Account is the byte budget of the tenant, which bounds the params of the exchanges in flight.
	// Nil is no bound.
	Account *quota.Account
	Meter   Meter
	// Failed counts an error sent to a client, by its code. Nil counts none.
	Failed func(code int64)
	Emit   telemetry.Sink
}

// withDefaults returns the options with defaults for the optional fields.
func (o Options) withDefaults() Options {
	if o.Failed == nil {
		o.Failed = func(int64) {}
	}
	if o.OfPrincipal == nil {
		o.OfPrincipal = func() int { return 0 }
	}
	return o
}

// Manager is the behaviour of tenants/<t>/request_manager. Its table is its carried state:
// exchanges continue with their deadlines after a crash.
type Manager struct {
	o     Options
	p     *otp.Process
	table *Table
	timer otp.Timer
	armed time.Time // when the timer fires; zero while none is set
}

// New makes one incarnation.
func New(o Options) *Manager { return &Manager{o: o.withDefaults()} }

// expire is the message of the timer.
type expire struct{}

func all(*Exchange) bool { return true }

// Init restores the exchanges in flight.
func (m *Manager) Init(p *otp.Process) error {
	m.p = p
	if !m.restore(p) {
		m.table = NewTable(m.o)
	}
	p.SetCarriedState(&carriedState{m.table})
	for _, x := range m.table.Filter(all) {
		p.Monitor(x.Upstream)
		p.Monitor(x.Holder().Ref)
	}
	m.expire()
	return nil
}

// Receive handles one message.
func (m *Manager) Receive(_ *otp.Process, msg any) error {
	switch msg := msg.(type) {
	case *Submit:
		m.submit(msg.Exchange)
	case *ExtendDeadline:
		m.extend(msg.ID, func(w *timeouts) { w.park(m.p.Now(), msg.For) })
	case *RestoreDeadline:
		m.extend(msg.ID, func(w *timeouts) { w.unpark(m.p.Now()) })
	case *Cancel:
		if x := m.table.Get(msg.ID); x != nil {
			m.withdraw(x, "cancelled by the client")
			x.Settle(Outcome{Ending: Cancelled})
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

// Terminate ends the exchanges in flight when the manager stops for good. After a crash the next
// incarnation continues them.
func (m *Manager) Terminate(p *otp.Process, reason error) {
	if otp.IsNormal(reason) {
		(&carriedState{m.table}).Abandon(reason)
		p.SetCarriedState(nil)
	}
}

// submit accepts an exchange and hands it to its connection.
func (m *Manager) submit(x *Exchange) {
	until, err := m.table.Take(m.p.Now(), x)
	if err != nil {
		told := protocol.Translate(err, x.Version)
		m.o.Emit(Rejected(m.where(x), x.Method, x.Params, x.Sink, err, told))
		x.Settle(Outcome{Ending: Refused, Err: err})
	}
	if until.IsZero() {
		return
	}
	m.arm(until)
	m.p.Monitor(x.Upstream)
	if err := m.p.Pass(x.Upstream, x.forwarded()); err != nil {
		x.Settle(Outcome{Err: notAccepted(x, err)})
	}
}

// notAccepted returns why a connection did not take an exchange: it is overloaded, or gone.
func notAccepted(x *Exchange, err error) error {
	if errors.Is(err, otp.ErrOverloaded) {
		return protocol.Overloaded("connection to server "+x.Server, time.Second)
	}
	return protocol.UpstreamLost(x.Server, false, err)
}

// arm sets the timer if none is set, or it is set too late. A timer that is set too early stays:
// when it fires nothing is due, and it is set again. This is cheaper than to move it with every
// outcome.
func (m *Manager) arm(at time.Time) {
	if !m.armed.IsZero() && !at.Before(m.armed) {
		return
	}
	m.timer.Stop()
	m.armed = at
	m.timer = m.p.After(at.Sub(m.p.Now()), expire{})
}

// extend changes the deadline of an exchange.
func (m *Manager) extend(id uint64, change func(*timeouts)) {
	if at, ok := m.table.extend(id, change); ok {
		m.arm(at)
	}
}

// expire ends the exchanges that are due.
func (m *Manager) expire() {
	now := m.p.Now()
	for _, x := range m.table.Due(now) {
		m.withdraw(x, "timeout")
		executed := x.BeginEnd()
		late := protocol.Timeout(now.Sub(x.watch.started).Round(time.Millisecond))
		late = late.WithoutAnswer(x.Server, executed).MarkRetryable(x.Method)
		if refusal := x.WaitsFor(); refusal != nil && !executed {
			late = late.WithCause(refusal)
		}
		x.Settle(Outcome{Ending: TimedOut, Err: late})
	}
	if at, ok := m.table.Next(now); ok {
		m.arm(at)
	}
}

// withdraw tells the holder of an exchange to drop it. The exchange is marked as over first: a
// holder that crashes on the message and restarts then sees that there is nothing to continue.
func (m *Manager) withdraw(x *Exchange, reason string) {
	x.BeginEnd()
	_ = m.p.Send(x.Holder().Ref, &Withdraw{ID: x.ID, Reason: reason})
}

// cancel ends the matching exchanges, and tells each client whether its request may have been
// executed.
func (m *Manager) cancel(match func(*Exchange) bool, why func(*Exchange) *protocol.Error) {
	for _, x := range m.table.Filter(match) {
		err := why(x)
		m.withdraw(x, protocol.ConditionOf(err).String())
		x.Settle(Outcome{Ending: Cancelled, Err: err})
	}
}

// sessionGone returns the error of an exchange that ends with its session. A session may end before
// its client leaves, for example with its tenant.
func sessionGone(x *Exchange) *protocol.Error {
	return protocol.SessionGone().WithoutAnswer(x.Server, x.BeginEnd()).MarkRetryable(x.Method)
}

func stopping(x *Exchange) *protocol.Error {
	return protocol.Stopping(x.Server, x.BeginEnd()).MarkRetryable(x.Method)
}

// stuck ends the exchanges held by a connection that was replaced because it is stuck. The stuck
// incarnation may return and change its own state, so that state is dropped. Exchanges that the
// successor has taken meanwhile continue. Exchanges that the stuck incarnation had handed to other
// connections continue too. That incarnation would have been told if those connections end; now the
// manager monitors them instead. For any other end of a connection, the connection or its next
// incarnation settles the exchanges itself.
func (m *Manager) stuck(d otp.Down) {
	if !errors.Is(d.Reason, otp.ErrStuck) {
		return
	}
	for _, x := range m.table.Filter(func(x *Exchange) bool { return x.Upstream == d.Ref }) {
		m.p.Monitor(x.Holder().Ref)
	}
	its := Holder{d.Ref, d.Incarnation}
	for _, x := range m.table.Filter(func(x *Exchange) bool { return x.Holder() == its }) {
		lost := protocol.UpstreamLost(x.Server, x.BeginEnd(), d.Reason).MarkRetryable(x.Method)
		x.Settle(Outcome{Ending: Lost, Err: lost})
	}
}

// pending describes the exchanges in flight, oldest first.
func (m *Manager) pending(q PendingQuery) []Info {
	list := m.table.Pending(func(x *Exchange) bool {
		return q.Session == "" || q.Session == x.Session
	})
	slices.SortStableFunc(list, func(a, b Info) int { return a.Started.Compare(b.Started) })
	return list
}

func (m *Manager) where(x *Exchange) telemetry.Where {
	return telemetry.Where{
		Tenant: m.o.Tenant, Server: x.Server, Session: x.Session, Exchange: strconv.FormatUint(x.ID, 10),
	}
}
