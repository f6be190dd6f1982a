// Package configuration holds the actor that applies configurations, one at a time and each as a whole. What a change means is decided in
// package config, before anything is done; it knows no file, and does not look into tenants.
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

// MaxWaiting is how many reloads may wait for the one that is under way. Each reads the file anew, so that more say nothing new.
const MaxWaiting = 16

// LoadTime bounds the reading of the file. It takes milliseconds, where its file system answers.
const LoadTime = 10 * time.Second

// Options are what the manager is made from.
type Options struct {
	// Load reads the next configuration and says where it came from. It may take as long as a file system does.
	Load func() (next *config.Config, source string, err error)
	// Now is the configuration that applies and which that is, and Apply makes another apply for everyone who reads it. It cannot fail.
	Now   func() (*config.Config, Applied)
	Apply func(next *config.Config, a Applied)
	// Storage is who writes down which applies; nil, or zero, for nobody.
	Storage func() otp.Ref
	// Tenants is the supervisor of the tenants, Tenant the child spec of one, and Catalog its catalogue.
	Tenants func() otp.Ref
	Tenant  func(name string) otp.Child
	Catalog func(name string) otp.Ref
	// Sessions is the session manager, and Open says how many sessions a tenant has.
	Sessions func() otp.Ref
	Open     func(tenant string) int
	Emit     telemetry.Sink
}

// Manager is the behaviour of core/configuration.
type Manager struct {
	otp.Base
	o Options
	p *otp.Process
	*kept
	run     *run // the reload under way
	looking bool // a look at the tenants that leave is on its way
}

// kept is the heir: who waits for a reload, the first of them for the one under way, and the tenants that are configured no more.
type kept struct {
	queue   []*Reload
	leaving map[string]*leaving
	// unsure says that a reload was under way in an incarnation that crashed: some of those it concerns may not have heard of it.
	unsure bool
}

// Abandon answers everyone who waits: there will be no other manager.
func (k *kept) Abandon(reason error) {
	for _, call := range k.queue {
		call.Fail(reason)
	}
}

// run is one reload.
type run struct {
	timer   otp.Timer
	report  *Report
	was     Applied         // which applied before
	changed map[string]bool // tenants whose servers are not what they were
	waiting int             // answers to come before the sessions are told
}

// New makes one incarnation.
func New(o Options) *Manager { return &Manager{o: o} }

// Messages that only the manager sends itself.
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

// Init takes over from an incarnation that crashed: its reload begins anew.
func (m *Manager) Init(p *otp.Process) error {
	m.p = p
	var heir bool
	if m.kept, heir = p.Heir().(*kept); !heir {
		m.kept = &kept{leaving: map[string]*leaving{}}
		p.SetHeir(m.kept)
	}
	for _, l := range m.leaving {
		l.ending = false // the answer went to the previous incarnation
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
		m.look()
	case ended:
		m.ended(msg.tenant)
	case deleted:
		m.deleted(msg.tenant)
	}
	return nil
}

// begin reads the file for the first who waits.
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

// loaded decides what there is to do. From here on nothing can fail: the configuration applies at once, and those are told who hold more than
// a view of it.
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
	m.run.report = &Report{Source: l.source, Applied: was.Next(m.p.Now(), plan.Config.Digest()), Changes: plan.Changes}
	m.o.Apply(plan.Config, m.run.report.Applied)
	changed := plan.Servers
	if m.unsure {
		changed = nil
		for _, t := range plan.Config.Tenants {
			changed = append(changed, t.Name)
		}
	}
	m.unsure = true
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

// tell has a tenant's catalogue look at the configuration. One that does not run does so when it starts.
func (m *Manager) tell(tenant string) {
	r := m.run
	r.waiting++
	otp.CallAsync(m.p, m.o.Catalog(tenant), catalog.ReloadRequest{}, func(struct{}, error) any { return settled{r} })
}

// settled goes on when all who are concerned have heard of it: only then sessions look for new connections.
func (m *Manager) settled() {
	if m.run.waiting--; m.run.waiting > 0 {
		return
	}
	r := m.run
	otp.CallAsync(m.p, m.o.Sessions(), session.ReloadRequest{Changed: r.changed}, func(struct{}, error) any { return told{r} })
}

// finish answers who asked, and goes on with the next.
func (m *Manager) finish() {
	m.unsure = false
	report := m.run.report
	changes := make([]string, len(report.Changes))
	for i, c := range report.Changes {
		changes[i] = c.String()
	}
	m.o.Emit(telemetry.ConfigLoaded{Source: report.Source, Generation: report.Generation, At: uint64(m.p.Now().Unix()), Changes: strings.Join(changes, "; ")})
	m.next().Reply(report)
}

// reject says why nothing has changed.
func (m *Manager) reject(source string, why error) {
	_, now := m.o.Now()
	m.o.Emit(telemetry.ConfigRejected{Source: source, Generation: now.Generation, Reason: why.Error()})
	m.next().Fail(why)
}

// next takes who waited for the reload that is over, and begins another for who waits behind.
func (m *Manager) next() *Reload {
	call := m.queue[0]
	m.queue[0] = nil
	m.queue = m.queue[1:]
	if m.run = nil; len(m.queue) > 0 {
		m.begin()
	}
	return call
}

// busyRetry is when a supervisor with a full mailbox is asked again.
const busyRetry = 5 * time.Millisecond

// or is what comes of a request to a supervisor: that it is made once more, if that was too busy, or then.
func or(err error, ask func(), then any) any {
	if errors.Is(err, otp.ErrOverloaded) {
		return pause{ask}
	}
	return then
}
