// Package request holds the request manager: the actor that is in charge of every exchange of one tenant from its admission to its one
// outcome. It knows who asked and until when; it does not know what a request means, and writes to no server itself.
package request

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/drops"
	"mcpd/gateway/quota"
	"mcpd/internal/water"
	"mcpd/protocol"
	"mcpd/protocol/inflight"
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
	Kept *quota.Account
	// Meter counts the requests of one method to one server.
	Meter func(server, method string) *telemetry.Requests
	// Failed counts an error that a client is sent, by its code. Nil counts none.
	Failed func(code int64)
	Emit   telemetry.Sink
}

type (
	table  = inflight.Table[uint64, *Exchange]
	event  = inflight.Event[uint64, *Exchange]
	effect = inflight.Effect[uint64, *Exchange]

	inflightRequest = inflight.Request[uint64, *Exchange]
)

// Manager is the behaviour of tenants/<t>/request_manager. Its table is its heir: exchanges go on with their deadlines when it crashes.
type Manager struct {
	o     Options
	p     *otp.Process
	table *ledger
	timer otp.Timer
	// meters are kept so that nothing is looked up elsewhere on the way of a request. Servers and methods are few: the session has
	// checked both.
	meters map[class]*telemetry.Requests
	// each is how many exchanges a principal has, nil while nobody asks.
	each  map[string]int
	drops drops.Drops
}

// class is what is counted together.
type class struct{ server, method string }

// New makes one incarnation.
func New(o Options) *Manager {
	if o.Failed == nil {
		o.Failed = func(int64) {}
	}
	if o.OfPrincipal == nil {
		o.OfPrincipal = func() int { return 0 }
	}
	return &Manager{o: o, meters: map[class]*telemetry.Requests{}}
}

// expire is the one timer.
type expire struct{}

// Init takes over the exchanges in flight. What a crash left half done is answered and dropped.
func (m *Manager) Init(p *otp.Process) error {
	m.p = p
	if !m.inherit(p) {
		m.table = newLedger(inflight.New[uint64, *Exchange](inflight.Options{}))
	}
	p.SetHeir(&estate{m})
	for r := range m.table.pending() {
		p.Monitor(r.Owner.Upstream)
		p.Monitor(r.Owner.Held().Ref)
	}
	for _, id := range m.keys(func(x *Exchange) bool { return x.failed.Load() }) {
		r, _ := m.table.get(id)
		m.step(event{Op: inflight.Complete, Key: id, Outcome: inflight.Failed, Err: r.Owner.Broken(errBroken)}, answer{})
	}
	m.step(event{Op: inflight.Expire}, answer{})
	return nil
}

// Receive handles one message.
func (m *Manager) Receive(_ *otp.Process, msg any) error {
	switch msg := msg.(type) {
	case *Submit:
		x := msg.Exchange
		if m.crowded(x) {
			m.reject(x, protocol.RateLimited(time.Second))
			return nil
		}
		if full := m.reserve(x); full != nil {
			m.reject(x, full.Told())
			return nil
		}
		m.table.setPending(m.o.Pending())
		m.step(event{Op: inflight.Register, Key: x.ID, Method: x.Method, Owner: x, Arrived: x.Arrived, Timeout: x.Timeout, Max: x.MaxTimeout}, answer{})
	case *Complete:
		how := inflight.Succeeded
		if msg.Err != nil {
			how = inflight.Failed
		}
		m.step(event{Op: inflight.Complete, Key: msg.ID, Owner: msg.Exchange, Outcome: how, Err: msg.Err}, answer{msg.Result, msg.Waited, msg.ToolError})
	case *Progress:
		m.step(event{Op: inflight.Progress, Key: msg.ID}, answer{})
	case *Park:
		m.step(event{Op: inflight.Park, Key: msg.ID, Timeout: msg.For}, answer{})
	case *Unpark:
		m.step(event{Op: inflight.Unpark, Key: msg.ID}, answer{})
	case *Cancel:
		m.step(event{Op: inflight.Cancel, Key: msg.ID}, answer{})
	case *CancelOwner:
		m.cancelOwner(msg)
	case *Stop:
		m.stop()
	case *Pending:
		msg.Reply(m.pending(msg.Req))
	case otp.Down:
		m.stuck(msg)
	case drops.Due:
		m.drops.Due(m.p, m.o.Emit)
	case expire:
		m.step(event{Op: inflight.Expire}, answer{})
	}
	return nil
}

// reserve counts what an exchange keeps, unless it was admitted and counted while it waited in its
// session.
func (m *Manager) reserve(x *Exchange) *quota.Refusal {
	if x.kept.Load() != nil {
		return nil
	}
	kept, full := m.o.Kept.Reserve(quota.Requests, x.size())
	if full != nil {
		return full
	}
	if x.kept.Store(kept); x.failed.Load() { // this incarnation was stuck meanwhile, and given up
		kept.Release()
	}
	return nil
}

// Terminate ends what is in flight when the manager stops for good. After a crash the next incarnation goes on with it. Either way it is told of the
// replies that were dropped.
func (m *Manager) Terminate(p *otp.Process, reason error) {
	m.drops.End(m.o.Emit)
	if otp.IsNormal(reason) {
		(&estate{m}).Abandon(reason)
		p.SetHeir(nil)
	}
}

// answer is what came back with a Complete.
type answer struct {
	result    jsontext.Value
	waited    time.Duration
	toolError bool
}

// step takes one event into the table and does what comes of it.
func (m *Manager) step(e event, a answer) {
	now := m.p.Now()
	var next event // the table is not stepped while its effects are in use
	var few [4]effect
	effects := m.table.step(now, e, few[:0])
	m.o.Most.Note(m.table.len())
	for i, do := range effects {
		x := do.Request.Owner
		switch do.Do {
		case inflight.Send:
			m.begin(x)
			m.count(x, 1)
			next = m.forward(x)
		case inflight.Reject:
			m.refused(do)
		case inflight.Finish:
			m.count(x, -1)
			m.finish(do, a)
			remembered(x)
		case inflight.Withdraw:
			x.Over() // before anybody acts on it: who crashes of this and comes back sees by it that there is nothing to go on with
			_ = m.p.Send(x.Held().Ref, &Withdraw{ID: x.ID, Reason: reason(e)})
		case inflight.Drop:
			if e.Op == inflight.Complete {
				m.drops.Reply(m.p, m.o.Emit, telemetry.ReplyDropped{Where: m.where(e.Owner), Method: e.Owner.Method, Reason: do.Why.String(), After: a.waited, Count: 1})
			}
		case inflight.Arm:
			m.timer.Stop()
			m.timer = m.p.After(do.At.Sub(now), expire{})
		}
		m.table.done(i) // a crash later on does not bring it back
	}
	if next.Op != 0 {
		m.step(next, answer{})
	}
}

// reject refuses an exchange that is not in the table.
func (m *Manager) reject(x *Exchange, err error) {
	m.refused(effect{Do: inflight.Reject, Request: inflightRequest{Key: x.ID, Owner: x}, Outcome: inflight.Failed, Err: err})
}

func (m *Manager) refused(do effect) {
	x := do.Request.Owner
	m.begin(x)
	told := protocol.Translate(do.Err, x.Version)
	m.o.Emit(Rejected(m.where(x), x.Method, x.Params, x.Sink, do.Err, told))
	m.finish(do, answer{})
}

// reason is what a server is told of a request that is withdrawn.
func reason(e event) string {
	switch {
	case e.Op == inflight.Expire:
		return "timeout"
	case e.Err != nil:
		return protocol.ConditionOf(e.Err).String()
	}
	return "cancelled by the client"
}

// forward hands an exchange to its connection, and says what comes of it: it is on its way, or the connection took it not.
func (m *Manager) forward(x *Exchange) event {
	m.p.Monitor(x.Upstream)
	if err := m.p.Pass(x.Upstream, &Forward{Exchange: x, Manager: m.p.Self()}); err != nil {
		return event{Op: inflight.Complete, Key: x.ID, Outcome: inflight.Failed, Err: untaken(x, err)}
	}
	return event{Op: inflight.Forward, Key: x.ID}
}

// stuck ends what a connection had in hand that was replaced because it is stuck: what it knew is given up with it, as it may come back and change
// it. What its successor has taken meanwhile is not its, nor is what it had handed to others: with it goes whoever would have heard of their ends, so that is
// the manager from now on. Any other end the connection tells itself, or its next incarnation does.
func (m *Manager) stuck(d otp.Down) {
	if !errors.Is(d.Reason, otp.ErrStuck) {
		return
	}
	for r := range m.table.pending() {
		if x := r.Owner; x.Upstream == d.Ref {
			m.p.Monitor(x.Held().Ref)
		}
	}
	for _, id := range m.keys(func(x *Exchange) bool { return x.Held() == Hold{d.Ref, d.Incarnation} }) {
		r, _ := m.table.get(id)
		x := r.Owner
		m.step(event{Op: inflight.Lose, Key: id, Err: protocol.UpstreamLost(x.Server, x.Over(), d.Reason).Repeating(x.Method)}, answer{})
	}
}

// untaken says why a connection did not take an exchange: it has too much to do, or is gone.
func untaken(x *Exchange, err error) error {
	if errors.Is(err, otp.ErrOverloaded) {
		return protocol.Overloaded("connection to server "+x.Server, time.Second)
	}
	return protocol.UpstreamLost(x.Server, false, err)
}

// finish gives an exchange its outcome.
func (m *Manager) finish(do effect, a answer) {
	x := do.Request.Owner
	executed := x.Over()
	if late, ok := errors.AsType[*protocol.Error](do.Err); ok && do.Outcome == inflight.TimedOut {
		late = late.Unanswered(x.Server, executed).Repeating(x.Method)
		if why := x.WaitsFor(); why != nil && !executed {
			late = late.Because(why)
		}
		do.Err = late
	}
	do.Err = x.Explain(do.Err)
	release(x, do.Outcome)
	if do.Outcome == inflight.Cancelled && do.Err == nil {
		x.End()
	} else {
		if do.Err != nil {
			m.o.Failed(protocol.CodeOf(do.Err, x.Version))
		}
		x.Finish(a.result, do.Err)
	}
	// late: the exchange has its outcome, and who counts it must hear so.
	_ = x.Owner.Send(Done{Exchange: x, Failed: do.Err != nil || do.Outcome != inflight.Succeeded})
	m.end(x, outcome(do, a), a.waited)
}

// cancelOwner ends every exchange of one session, and says of each whether it may have been executed: a session also ends without its client,
// as with its tenant.
func (m *Manager) cancelOwner(c *CancelOwner) {
	for _, id := range m.keys(func(x *Exchange) bool { return x.Session == c.Session }) {
		r, _ := m.table.get(id)
		x := r.Owner
		m.step(event{Op: inflight.Cancel, Key: id, Err: protocol.SessionGone().Unanswered(x.Server, x.Over()).Repeating(x.Method)}, answer{})
	}
}

// stop ends every exchange, and says of each whether it may have been executed.
func (m *Manager) stop() {
	for _, id := range m.keys(func(*Exchange) bool { return true }) {
		r, _ := m.table.get(id)
		x := r.Owner
		m.step(event{Op: inflight.Cancel, Key: id, Err: protocol.Stopping(x.Server, x.Over()).Repeating(x.Method)}, answer{})
	}
}

// keys are the exchanges in flight that are such, in the order in which they came. The table must not be stepped while it is gone through.
func (m *Manager) keys(such func(*Exchange) bool) (ids []uint64) {
	for r := range m.table.pending() {
		if such(r.Owner) {
			ids = append(ids, r.Key)
		}
	}
	return ids
}

func (m *Manager) pending(q PendingQuery) []Info {
	var list []Info
	for r := range m.table.pending() {
		if q.Session == "" || q.Session == r.Owner.Session {
			list = append(list, Info{r.Key, r.Method, r.Owner.Server, r.Owner.Session, r.Started, r.Deadline})
		}
	}
	slices.SortStableFunc(list, func(a, b Info) int { return a.Started.Compare(b.Started) })
	return list
}

func (m *Manager) where(x *Exchange) telemetry.Where {
	return telemetry.Where{Tenant: m.o.Tenant, Server: x.Server, Session: x.Session, Exchange: strconv.FormatUint(x.ID, 10)}
}
