package tenancy

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/storage"
	"mcpd/gateway/ladder"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// saved is the stored form of a standing.
type saved struct {
	State    ladder.State `json:"state"`
	Since    time.Time    `json:"since,omitzero"`
	Times    int          `json:"times,omitzero"`
	Gap      int64        `json:"gap_ns,omitzero"`
	Until    time.Time    `json:"until,omitzero"`
	Operator bool         `json:"operator,omitzero"`
	Cause    string       `json:"cause,omitzero"`
	Incident string       `json:"incident,omitzero"`
}

// change returns the change that stores the standing of a tenant; a deletion when it is clean.
func change(tenant string, s ladder.Standing) store.Change {
	c := store.Change{Bucket: store.Tenants, Key: tenant}
	if s.Clean() {
		return c
	}
	var err error
	of := saved{
		s.State, s.Since, s.Ends, int64(s.Pause), s.Until, s.Operator,
		telemetry.Clean(s.Cause, telemetry.MaxValue), s.Incident,
	}
	if c.Value, err = json.Marshal(of); err != nil {
		panic(err) // it holds only cleaned text, numbers and times of a clock
	}
	return c
}

// put stores the standing of a tenant, without waiting.
func (m *Manager) put(tenant string, s ladder.Standing) {
	if to := m.o.Storage(); !to.IsZero() {
		// A storage that is gone stores nothing.
		_ = m.p.Send(to, &storage.Keep{Tenant: tenant, Change: change(tenant, s)})
	}
}

var errUnsound = errors.New("not how a tenant stands")

// Parse parses the stored standing of a tenant. A time further ahead than any pause comes from a
// clock that was wrong, and is corrected.
func Parse(value jsontext.Value, now time.Time) (s ladder.Standing, err error) {
	var of saved
	if err := json.Unmarshal(value, &of); err != nil {
		return ladder.Standing{}, err
	}
	s = ladder.Standing{
		State: of.State, Since: of.Since, Ends: of.Times, Pause: time.Duration(of.Gap), Until: of.Until,
		Operator: of.Operator,
		Why:      ladder.Why{Cause: of.Cause, Incident: of.Incident},
	}
	switch s.State {
	case ladder.Running, ladder.Paused, ladder.Quarantined, ladder.Probing:
	default:
		return ladder.Standing{}, errUnsound
	}
	if s.Ends < 0 || s.Pause < 0 || s.Pause > ladder.LastProbe ||
		!s.Operator && !s.Runs() && s.Until.IsZero() {
		return ladder.Standing{}, errUnsound
	}
	if s.Since.After(now) { // the clock has been set back
		s.Since = now
	}
	if s.State == ladder.Probing { // the probe was not over
		s.State, s.Until = ladder.Quarantined, now.Add(s.Pause)
	}
	if s.Until.Sub(now) > s.Pause {
		s.Until = now.Add(s.Pause)
	}
	return s, nil
}

// restore restores the standings that an earlier host has stored. One that is unreadable, or of a
// tenant that is not configured, is dropped.
func (m *Manager) restore() {
	if m.o.Stored == nil {
		return
	}
	known := map[string]bool{}
	for _, name := range m.o.Tenants() {
		known[name] = true
	}
	for name, value := range m.o.Stored {
		reading := storage.Reading{
			Change: store.Change{Bucket: store.Tenants, Key: name, Value: value}, Kind: "tenant", Name: name,
			Tenant: func() string { return name }, Storage: m.o.Storage(),
		}
		var s ladder.Standing
		var err error
		if !m.o.Records.Read(m.p, reading, func() { s, err = Parse(value, m.p.Now()) }) {
			s = m.unread(name)
		} else if err != nil {
			m.o.Emit(telemetry.RecordDropped{
				Where: telemetry.Where{Tenant: name, Path: m.p.Path()}, Kind: "tenant", Reason: err.Error(),
				Count: 1,
			})
		}
		if err != nil || !known[name] {
			m.put(name, ladder.Standing{})
			continue
		}
		m.o.Board.Set(name, s)
	}
}

// unread returns the standing of a tenant whose stored standing cannot be read. Only standings of
// tenants in trouble are stored, so the tenant is not started before a probe or a command of an
// operator.
func (m *Manager) unread(name string) ladder.Standing {
	now := m.p.Now()
	return ladder.Standing{
		State: ladder.Quarantined, Since: now, Ends: ladder.MaxEnds, Pause: ladder.FirstProbe,
		Until: now.Add(ladder.FirstProbe),
		Why: ladder.Why{
			Cause: "how it stood could not be read", Incident: otp.IncidentID(m.p.Path()+"/"+name, now),
		},
	}
}
