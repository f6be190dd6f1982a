// Package tenancy holds the tenant manager. It restarts tenants that have ended by themselves,
// after the pauses that package ladder decides, and executes the commands of operators. It does not
// know what a tenant is made of.
package tenancy

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/storage"
	"mcpd/gateway/ladder"
	"mcpd/internal/sortedmap"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Errors of Operate.
var (
	ErrNoTenant = errors.New("no such tenant")
	ErrPutAway  = errors.New("an operator has quarantined it")
)

// lookEvery is the pause before the manager looks again for the missing row of a tenant.
const lookEvery = time.Second

// Options configure a Manager.
type Options struct {
	// Board shows the states of the tenants. It outlives the manager.
	Board *ladder.Board
	// Tenants returns the configured tenants, in order.
	Tenants func() []string
	// Supervisor is the parent of the tenants, and Child returns the spec of one.
	Supervisor func() otp.Ref
	Child      func(tenant string) otp.Child
	// Starting is called before a tenant is started again, and Resumed when it runs.
	Starting, Resumed func(tenant string)
	// Storage returns the actor that stores the states of tenants; nil, or a zero result, for none.
	Storage func() otp.Ref
	// Stored yields the states that an earlier host has stored.
	Stored iter.Seq2[string, jsontext.Value]
	// Records reads Stored; nil sets no record aside.
	Records *storage.Restorer
	Emit    telemetry.Sink
}

// Manager is the behaviour of core/tenant_manager.
type Manager struct {
	otp.Base
	o       Options
	p       *otp.Process
	rows    map[string]*row
	looking bool // a look message is on its way
	*pending
}

// pending is the carried state: commands of operators without a reply.
type pending struct {
	calls   []*Operate      // that wait until their decision is stored
	restart map[string]bool // tenants to be stopped and then started again
}

// Abandon fails the commands: there will be no other manager.
func (p *pending) Abandon(reason error) {
	for _, call := range p.calls {
		call.Fail(reason)
	}
}

// row is the manager's state of one tenant.
type row struct {
	name    string
	ref     otp.Ref // the monitored row; zero when none is
	busy    bool    // a stop or a start is in progress
	armed   bool    // the timer was set once
	timer   otp.Timer
	resumed bool // it is started after it had been down
}

// New makes one incarnation.
func New(o Options) *Manager {
	if o.Storage == nil {
		o.Storage = func() (nobody otp.Ref) { return nobody }
	}
	return &Manager{o: o, rows: map[string]*row{}}
}

// Messages that the manager sends to itself.
type (
	look    struct{}
	passed  struct{ tenant string }
	stopped struct {
		tenant string
		err    error
	}
	started struct {
		tenant string
		ref    otp.Ref
		err    error
	}
	written struct {
		call *Operate
		err  error
	}
)

// Init takes over the tenants as the board shows them, from the previous incarnation or the
// previous host.
func (m *Manager) Init(p *otp.Process) error {
	m.p = p
	if m.o.Records.Due(p, "tenants") {
		m.restore()
		m.o.Records.Finish("tenants")
	}
	var ok bool
	if m.pending, ok = p.CarriedState().(*pending); !ok {
		m.pending = &pending{restart: map[string]bool{}}
		p.SetCarriedState(m.pending)
	}
	m.look()
	// The reply to the earlier incarnation is lost. Writing the same again is harmless.
	for _, call := range slices.Clone(m.calls) {
		m.write(call)
	}
	return nil
}

// Receive handles one message.
func (m *Manager) Receive(p *otp.Process, msg any) error {
	switch msg := msg.(type) {
	case Charged:
		if r := m.rows[msg.Tenant]; r != nil {
			m.step(r, ladder.CrashCharged{Why: msg.Why})
		}
	case Started:
		if r := m.rows[msg.Tenant]; r != nil {
			m.settle(r)
		}
	case *Operate:
		m.operate(msg)
	case written:
		m.written(msg)
	case Reconfigured:
		m.look()
	case look:
		m.looking = false
		m.look()
	case passed:
		if r := m.rows[msg.tenant]; r != nil {
			m.step(r, ladder.Passed{})
		}
	case otp.Down:
		m.down(msg)
	case stopped:
		m.stopped(msg)
	case started:
		m.started(msg)
	}
	return nil
}

// look compares the running tenants with the configured ones.
func (m *Manager) look() {
	names := m.o.Tenants()
	for _, name := range names {
		r := m.rows[name]
		// An operator may command it, even if no work is done on its behalf now.
		if r == nil {
			r = &row{name: name}
			m.rows[name] = r
		}
		if !m.p.OnBehalf(name, func() { m.lookAt(r) }) {
			m.lookAgain()
		}
	}
	for name, r := range sortedmap.Sorted(m.rows) {
		if !slices.Contains(names, name) {
			m.forget(r)
		}
	}
}

// lookAt brings a configured tenant one step nearer to its wanted state.
func (m *Manager) lookAt(r *row) {
	if !r.armed {
		r.armed = true
		m.arm(r)
	}
	m.settle(r)
}

// forget drops a tenant that is no longer configured. The configuration manager stops it.
func (m *Manager) forget(r *row) {
	r.timer.Stop()
	if !r.ref.IsZero() {
		m.p.Demonitor(r.ref)
	}
	delete(m.rows, r.name)
	if s := m.o.Board.Of(r.name); !s.Clean() {
		m.put(r.name, ladder.Standing{})
	}
	m.o.Board.Set(r.name, ladder.Standing{})
	m.o.Board.SetMove(r.name, "")
	delete(m.restart, r.name)
}

// step passes an event of a tenant to the ladder, and performs the effects.
func (m *Manager) step(r *row, e ladder.Event) (refused bool) {
	before := m.o.Board.Of(r.name)
	s, effects := ladder.Step(before, m.p.Now(), e)
	if !before.Clean() || !s.Clean() {
		m.put(r.name, s)
	}
	m.o.Board.Set(r.name, s)
	m.arm(r)
	for _, x := range effects {
		switch x {
		case ladder.Stop:
			m.restart[r.name] = true
			m.o.Board.SetMove(r.name, ladder.Stopping)
		case ladder.Start:
			r.resumed = true
			if !m.restart[r.name] {
				m.o.Board.SetMove(r.name, ladder.Starting)
			}
		case ladder.Refuse:
			refused = true
		default:
			m.tell(r.name, x, s)
		}
	}
	m.settle(r)
	return refused
}

// arm sets the timer for the time that the ladder waits for.
func (m *Manager) arm(r *row) {
	r.timer.Stop()
	s := m.o.Board.Of(r.name)
	if at := s.Next(); !at.IsZero() {
		r.timer = m.p.After(max(0, at.Sub(m.p.Now())), passed{r.name})
	}
}

// settle brings a tenant one step nearer to its wanted state. Each operation that it begins ends
// with a message, which calls settle again.
func (m *Manager) settle(r *row) {
	if r.busy {
		return
	}
	s, sup := m.o.Board.Of(r.name), m.o.Supervisor()
	at := sup.Child(r.name)
	switch {
	case !sup.Alive():
		m.lookAgain() // the supervisor starts the tenants that are to run
	case at.Alive() && (m.restart[r.name] || !s.Runs()):
		r.busy = true
		delete(m.restart, r.name)
		m.o.Board.SetMove(r.name, ladder.Stopping)
		m.unfollow(r)
		otp.TerminateChildAsync(m.p, sup, r.name, func(err error) any { return stopped{r.name, err} })
	case at.Alive():
		m.follow(r, at)
		m.o.Board.SetMove(r.name, "")
	case s.Runs() && !r.ref.IsZero():
		// It has just ended. The Down message says why, and so whether it may be started now.
	case s.Runs():
		r.busy = true
		delete(m.restart, r.name)
		m.o.Board.SetMove(r.name, ladder.Starting)
		m.o.Starting(r.name)
		otp.RestartChildAsync(m.p, sup, r.name, func(ref otp.Ref, err error) any {
			return started{r.name, ref, err}
		})
	default:
		delete(m.restart, r.name)
		m.o.Board.SetMove(r.name, "")
	}
}

func (m *Manager) lookAgain() {
	if !m.looking {
		m.looking = true
		m.p.After(lookEvery, look{})
	}
}

// follow monitors a running tenant.
func (m *Manager) follow(r *row, at otp.Ref) {
	if r.ref == at {
		return
	}
	m.unfollow(r)
	r.ref = at
	m.p.Monitor(at)
	if r.resumed {
		r.resumed = false
		m.o.Resumed(r.name)
	}
}

func (m *Manager) unfollow(r *row) {
	if !r.ref.IsZero() {
		m.p.Demonitor(r.ref)
		r.ref = otp.Ref{}
	}
}

// stopped continues after a tenant was stopped.
func (m *Manager) stopped(msg stopped) {
	r := m.rows[msg.tenant]
	if r == nil {
		return
	}
	if r.busy = false; errors.Is(msg.err, otp.ErrNoProc) || errors.Is(msg.err, otp.ErrOverloaded) {
		m.lookAgain()
		return
	}
	m.settle(r)
}

// started continues after a tenant was started, or failed to start. A tenant without a row gets
// one.
func (m *Manager) started(msg started) {
	r := m.rows[msg.tenant]
	if r == nil {
		return
	}
	r.busy = false
	var start *otp.StartError
	var already otp.ErrAlreadyStarted
	switch {
	case msg.err == nil, errors.Is(msg.err, otp.ErrRunning), errors.As(msg.err, &already):
		m.settle(r)
	case errors.Is(msg.err, otp.ErrNotFound):
		r.busy = true
		otp.StartChildAsync(m.p, m.o.Supervisor(), m.o.Child(r.name), func(ref otp.Ref, err error) any {
			return started{r.name, ref, err}
		})
	case errors.As(msg.err, &start):
		m.step(r, ladder.Ended{Why: m.why(r.name, msg.err)})
	default: // the supervisor is busy, or the row is being removed
		m.lookAgain()
	}
}

// down handles the end of a tenant. A tenant that was stopped, or whose own supervisor crashed and
// is being restarted, has not ended by itself.
func (m *Manager) down(d otp.Down) {
	for _, r := range m.rows {
		if r.ref != d.Ref {
			continue
		}
		r.ref = otp.Ref{}
		var gaveUp *otp.ShutdownError
		if errors.As(d.Reason, &gaveUp) {
			m.step(r, ladder.Ended{Why: m.why(r.name, d.Reason)})
			return
		}
		m.lookAgain()
		return
	}
}

// why returns the cause of an end, with the incident of the crash behind it if there was one.
func (m *Manager) why(tenant string, reason error) ladder.Why {
	var crash *otp.CrashReport
	if errors.As(reason, &crash) {
		return ladder.Why{Cause: crash.Error(), Incident: crash.Incident()}
	}
	return ladder.Why{
		Cause: reason.Error(), Incident: otp.IncidentID(m.p.Path()+"/"+tenant, m.p.Now()),
	}
}

// operate executes a command of an operator.
func (m *Manager) operate(call *Operate) {
	r := m.rows[call.Req.Tenant]
	if r == nil || !slices.Contains(ladder.Verbs(), call.Req.Verb) {
		call.Fail(ErrNoTenant)
		return
	}
	reason := ladder.Why{
		Cause:    "an operator has quarantined it",
		Incident: otp.IncidentID(m.p.Path()+"/"+r.name, m.p.Now()),
	}
	if m.step(r, ladder.Operated{Verb: call.Req.Verb, Why: reason}) {
		call.Fail(ErrPutAway)
		return
	}
	if call.Req.Verb != ladder.Quarantine {
		// Starting also clears the record against a tenant that runs.
		m.o.Starting(r.name)
	}
	call.AnswerLater()
	m.calls = append(m.calls, call)
	m.write(call)
}

// write stores the decision of an operator.
func (m *Manager) write(call *Operate) {
	if m.o.Storage().IsZero() {
		m.written(written{call: call})
		return
	}
	change := change(call.Req.Tenant, m.o.Board.Of(call.Req.Tenant))
	otp.CallAsync(m.p, m.o.Storage(), storage.PutRequest{Change: change},
		func(_ struct{}, err error) any {
			return written{call, err}
		})
}

// written replies to an operator. The stop or start of the tenant may take longer; the board shows
// it.
func (m *Manager) written(w written) {
	m.calls = slices.DeleteFunc(m.calls, func(call *Operate) bool { return call == w.call })
	switch {
	case w.err != nil:
		w.call.Fail(fmt.Errorf("it is done, but would not survive a restart of the host: %w", w.err))
	case m.rows[w.call.Req.Tenant] == nil:
		w.call.Fail(ErrNoTenant)
	default:
		w.call.Reply(m.o.Board.Of(w.call.Req.Tenant))
	}
}
