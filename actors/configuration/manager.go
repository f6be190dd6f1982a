// Package configuration holds the actor that applies configurations, one at a time and each as a
// whole. Package config decides beforehand what a change means. This package knows no file, and
// does not look into tenants.
package configuration

import (
	"context"
	"errors"
	"strings"
	"time"

	"mcpd/actors/catalog"
	"mcpd/actors/session"
	"mcpd/gateway/config"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// MaxWaiting is how many reloads may wait for the one in progress. Each reads the file again, so
// more of them have no use.
const MaxWaiting = 16

// LoadTime bounds the reading of the file. It takes milliseconds if the file system responds.
const LoadTime = 10 * time.Second

// Options configure a Manager.
type Options struct {
	// Load reads the next configuration and returns its origin. It may take as long as a file system
	// does.
	Load func() (next *config.Config, source string, err error)
	// Now returns the current configuration and its Applied. Apply makes another configuration current
	// for all its readers; it cannot fail.
	Now   func() (*config.Config, Applied)
	Apply func(next *config.Config, a Applied)
	// Storage returns the actor that stores the Applied; nil, or a zero result, for none.
	Storage func() otp.Ref
	// Tenants is the supervisor of the tenants, Tenant the child spec of one, and Catalog its
	// catalogue.
	Tenants func() otp.Ref
	Tenant  func(name string) otp.Child
	Catalog func(name string) otp.Ref
	// Sessions is the session manager, and Open returns how many sessions a tenant has.
	Sessions func() otp.Ref
	Open     func(tenant string) int
	Emit     telemetry.Sink
}

// Manager is the behaviour of core/configuration.
type Manager struct {
	otp.Base
	o Options
	p *otp.Process
	*carriedState
	run     *run // the reload in progress
	looking bool // a look message is on its way
}

// carriedState is the carried state: the waiting reloads, of which the first is in progress, and
// the tenants that are no longer configured.
type carriedState struct {
	queue   []*Reload
	leaving map[string]*leaving
	// tellAll says that a reload was in progress in an incarnation that crashed: some of the actors
	// concerned may not have been told of it.
	tellAll bool
}

// Abandon fails all waiting reloads, because there will be no other manager.
func (k *carriedState) Abandon(reason error) {
	for _, call := range k.queue {
		call.Fail(reason)
	}
}

// run is one reload.
type run struct {
	timer   otp.Timer
	report  *Report
	was     Applied         // the one before the reload
	changed map[string]bool // tenants whose servers have changed
	waiting int             // pending replies before the sessions are told
}

// New makes one incarnation.
func New(o Options) *Manager { return &Manager{o: o} }

// Messages that the manager sends to itself.
type (
	loaded struct {
		run    *run
		next   *config.Config
		source string
		err    error
	}
	late    struct{ run *run }
	settled struct{ run *run }
	told    struct{ run *run }
	written struct{ run *run }
)

// Init takes over from an incarnation that crashed: its reload begins again.
func (m *Manager) Init(p *otp.Process) error {
	m.p = p
	var restored bool
	if m.carriedState, restored = p.CarriedState().(*carriedState); !restored {
		m.carriedState = &carriedState{leaving: map[string]*leaving{}}
		p.SetCarriedState(m.carriedState)
	}
	for _, l := range m.leaving {
		l.ending = false // the reply went to the previous incarnation
	}
	m.lookAgain()
	if len(m.queue) > 0 {
		m.begin()
	}
	return nil
}

// Receive handles one message.
func (m *Manager) Receive(_ *otp.Process, msg any) error {
	switch msg := msg.(type) {
	case *Reload:
		if len(m.queue) > MaxWaiting {
			msg.Fail(protocol.Overloaded("configuration", time.Second))
			return nil
		}
		msg.AnswerLater()
		if m.queue = append(m.queue, msg); len(m.queue) == 1 {
			m.begin()
		}
	case loaded:
		if msg.run == m.run && m.run.report == nil {
			m.loaded(msg)
		}
	case late:
		if msg.run == m.run && m.run.report == nil {
			m.reject("", context.DeadlineExceeded)
		}
	case settled:
		if msg.run != nil && msg.run == m.run {
			m.settled()
		}
	case told:
		if msg.run == m.run {
			m.write()
		}
	case written:
		if msg.run == m.run {
			m.finish()
		}
	case pause:
		m.p.After(busyRetry, again(msg))
	case again:
		msg.again()
	case look:
		m.looking = false
		m.stopEmptyTenants()
	case ended:
		m.ended(msg.tenant)
	case deleted:
		m.deleted(msg.tenant)
	}
	return nil
}

// begin reads the file for the first waiting reload.
func (m *Manager) begin() {
	r := &run{changed: map[string]bool{}}
	m.run = r
	r.timer = m.p.After(LoadTime, late{r})
	m.p.Go("load", func(context.Context) error {
		next, source, err := m.o.Load()
		m.p.Post(loaded{r, next, source, err})
		return nil
	})
}

// loaded applies the configuration and tells the actors that hold more than a view of it. Once the
// plan is made, no step can fail.
func (m *Manager) loaded(l loaded) {
	m.run.timer.Stop()
	if l.err != nil {
		m.reject(l.source, l.err)
		return
	}
	now, was := m.o.Now()
	plan, err := config.NewPlan(now, l.next)
	if err != nil {
		m.reject(l.source, err)
		return
	}
	m.run.was = was
	m.run.report = &Report{
		Source: l.source, Applied: was.Next(m.p.Now(), plan.Config.Digest()), Changes: plan.Changes,
	}
	m.o.Apply(plan.Config, m.run.report.Applied)
	changed := plan.Servers
	if m.tellAll {
		changed = nil
		for _, t := range plan.Config.Tenants {
			changed = append(changed, t.Name)
		}
	}
	m.tellAll = true
	m.run.waiting = 1
	for _, name := range plan.Removed {
		m.leave(name, m.p.Now().Add(plan.Config.Drain))
	}
	for _, name := range plan.Added {
		if !m.stay(name) {
			m.run.waiting++
			m.start(name, m.run)
		} else {
			changed = append(changed, name)
		}
	}
	for _, name := range changed {
		m.run.changed[name] = true
		m.tell(name)
	}
	m.settled()
}

// tell makes a tenant's catalogue read the configuration. A catalogue that does not run reads it
// when it starts.
func (m *Manager) tell(tenant string) {
	r := m.run
	r.waiting++
	otp.CallAsync(m.p, m.o.Catalog(tenant), catalog.ReloadRequest{}, func(struct{}, error) any {
		return settled{r}
	})
}

// settled continues when all catalogues concerned have been told: only then sessions look for new
// connections.
func (m *Manager) settled() {
	if m.run.waiting--; m.run.waiting > 0 {
		return
	}
	r := m.run
	otp.CallAsync(m.p, m.o.Sessions(), session.ReloadRequest{Changed: r.changed},
		func(struct{}, error) any {
			return told{r}
		})
}

// finish replies to the caller, and continues with the next reload.
func (m *Manager) finish() {
	m.tellAll = false
	report := m.run.report
	changes := make([]string, len(report.Changes))
	for i, c := range report.Changes {
		changes[i] = c.String()
	}
	m.o.Emit(telemetry.ConfigLoaded{
		Source: report.Source, Generation: report.Generation, At: uint64(m.p.Now().Unix()),
		Changes: strings.Join(changes, "; "),
	})
	m.next().Reply(report)
}

// reject fails a reload that has changed nothing.
func (m *Manager) reject(source string, cause error) {
	_, now := m.o.Now()
	m.o.Emit(telemetry.ConfigRejected{
		Source: source, Generation: now.Generation, Reason: cause.Error(),
	})
	m.next().Fail(cause)
}

// next takes the finished reload from the queue, and begins the next one.
func (m *Manager) next() *Reload {
	call := m.queue[0]
	m.queue[0] = nil
	m.queue = m.queue[1:]
	if m.run = nil; len(m.queue) > 0 {
		m.begin()
	}
	return call
}

// busyRetry is the pause before a supervisor with a full mailbox is asked again.
const busyRetry = 5 * time.Millisecond

// retryOr returns the message that follows a request to a supervisor: a pause before a retry if the
// supervisor was overloaded, else then.
func retryOr(err error, ask func(), then any) any {
	if errors.Is(err, otp.ErrOverloaded) {
		return pause{ask}
	}
	return then
}
