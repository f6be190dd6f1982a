// Package memory holds the actor that watches how much of its memory the host uses, and sets a
// level that says which work may begin. It refuses nothing itself, and does not know the users of
// the level.
package memory

import (
	"context"
	"time"

	"mcpd/gateway/quota"
	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

const (
	// SampleEvery is how long a change of level may go unnoticed.
	SampleEvery = 250 * time.Millisecond
	// CollectEvery is how long a level may rest on the same garbage collection. Memory released since
	// then counts only after the next one, and an idle runtime collects every two minutes.
	CollectEvery = 2 * time.Second
	// RefusedFor is how long tenants above their share are refused, once a collection has found no
	// memory left, before the next collection begins. If that one finds no memory either, everybody is
	// refused.
	RefusedFor = SampleEvery
)

// Options configure a Manager.
type Options struct {
	// Limit is the available memory, in bytes; 0 is no limit, and the level never changes.
	Limit uint64
	// Use measures the memory in use.
	Use func() Use
	// Collect runs a garbage collection, and returns when it is done.
	Collect func()
	// SetGCPercent sets by how many percent the heap may grow until the next collection. Nil leaves
	// that to the runtime.
	SetGCPercent func(percent int)
	// Level is the current level. It outlives the manager, which is most likely to crash when it is
	// needed: meanwhile the last level applies, and the next incarnation measures at once.
	Level *quota.Memory
	// Relieve releases memory that the level does not permit. It is called with every sample above
	// quota.Normal.
	Relieve func(quota.Level)
	// Holdings returns the bytes that tenants keep; nil is none.
	Holdings func() []quota.Holding
	Emit     telemetry.Sink
	// Faults may allocate memory; nil is none.
	Faults *fault.Registry
}

// Manager is the behaviour of core/memory.
type Manager struct {
	otp.Base
	o       Options
	p       *otp.Process
	seen    uint64    // number of the collection that the last sample rests on
	since   time.Time // when that collection was first seen
	percent int       // the pace that was set last
	// fullSince is since when collections find no memory left; zero if the last one found some.
	fullSince time.Time
	// deciding says that the collection has begun that decides whether everybody is refused.
	deciding   bool
	decided    bool // that collection has ended
	collecting bool
	ballast    []byte              // allocated for a fault
	refused    map[string]refusals // by tenant
}

// New makes one incarnation.
func New(o Options) *Manager { return &Manager{o: o, refused: map[string]refusals{}} }

// Status is shown in the tree, and checked for readiness.
type Status struct {
	Level      quota.Level
	Use, Limit uint64 // bytes
	// Largest is the tenant that keeps the most bytes, and Refused are the tenants that were refused
	// lately for their memory.
	Largest quota.Holding
	Refused []quota.Holding
}

// sample is the message of the timer.
type sample struct{}

// Init measures at once.
func (m *Manager) Init(p *otp.Process) error {
	m.p = p
	if m.o.Limit > 0 || m.o.SetGCPercent != nil {
		m.sample()
	}
	return nil
}

// Receive handles one message.
func (m *Manager) Receive(_ *otp.Process, msg any) error {
	switch msg.(type) {
	case sample:
		m.sample()
	case otp.Done:
		m.collecting, m.decided = false, m.deciding
	}
	return nil
}

func (m *Manager) sample() {
	m.p.After(SampleEvery, sample{})
	use, last := m.o.Use(), m.o.Level.Level()
	m.pace(use)
	m.fill(use)
	level := m.next(last, use)
	m.o.Level.Set(level)
	most, refused := m.holdings()
	m.p.SetStatus(Status{level, use.Bytes, m.o.Limit, most, refused})
	if level != last {
		e := telemetry.MemoryLevel{
			Level: level.String(), Last: last.String(), Step: uint32(level), Use: use.Bytes,
			Limit: m.o.Limit,
		}
		if most.Kept > 0 {
			e.Most = most.String()
		}
		m.o.Emit(e)
	}
	if use.Collections != m.seen {
		m.seen, m.since = use.Collections, m.p.Now()
	}
	if level == quota.Normal {
		return
	}
	m.o.Relieve(level)
	if m.p.Now().Sub(m.since) >= CollectEvery {
		m.collect()
	}
}

// next returns the level after last. A collection counts as alive the objects that are allocated
// while it runs. So a collection amid bursts of some tenants may find far more than is kept.
// Tenants above their share are refused from then on. Everybody is refused only when a second
// collection finds no memory left. That one begins when those tenants have been refused for
// RefusedFor, so that it counts no burst of theirs.
func (m *Manager) next(last quota.Level, use Use) quota.Level {
	level, full := last.Next(use.Bytes, m.o.Limit), m.o.Limit > 0 && use.Bytes >= m.o.Limit
	switch {
	case !full:
		m.fullSince, m.deciding, m.decided = time.Time{}, false, false
	case m.fullSince.IsZero():
		m.fullSince = m.p.Now()
	case !m.deciding && !m.collecting && m.p.Now().Sub(m.fullSince) >= RefusedFor:
		m.deciding = true
		m.collect()
	}
	switch {
	case level == quota.Exhausted && last == quota.Critical && !m.decided:
		return quota.Critical
	case level == quota.Critical && last < quota.Critical && !full:
		m.collect()
	}
	return level
}

// pace sets the growth after which the next collection is worth its cost.
func (m *Manager) pace(use Use) {
	if percent := GrowthPercent(use.Live, m.o.Limit); m.o.SetGCPercent != nil && percent != m.percent {
		m.percent = percent
		m.o.SetGCPercent(percent)
	}
}

func (m *Manager) collect() {
	if !m.collecting {
		m.collecting = true
		m.p.Go("collect", func(context.Context) error { m.o.Collect(); return nil })
	}
}

// fill allocates memory up to the percentage of a fault, and releases it when the fault is over.
// Both count with the next collection.
func (m *Manager) fill(use Use) {
	percent := m.o.Faults.Fill()
	if (percent > 0) == (m.ballast != nil) {
		return
	}
	m.ballast = nil
	if want := uint64(percent / 100 * float64(m.o.Limit)); want > use.Bytes {
		const page = 4096 // it is not mapped until it is written to
		m.ballast = make([]byte, want-use.Bytes)
		for at := 0; at < len(m.ballast); at += page {
			m.ballast[at] = 1
		}
	}
	m.collect()
}
