package session

import (
	"cmp"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/storage"
	"mcpd/internal/clock"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/negotiation"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport/streamable"
)

// saved is the stored form of a session: the contents of its handle and its record, in the terms of
// the protocol.
type saved struct {
	Tenant    string `json:"tenant"`
	Server    string `json:"server,omitzero"`
	Principal string `json:"principal,omitzero"`
	Channel   bool   `json:"channel,omitzero"` // over HTTP+SSE
	// only if it is not the digest of the id
	Row    string    `json:"row,omitzero"`
	Opened time.Time `json:"opened"`
	// when its client was last heard of; see Handle.Touch
	Active       time.Time           `json:"active,omitzero"`
	Idle         int64               `json:"idle_ns,omitzero"`
	Terms        jsontext.Value      `json:"terms,omitzero"`
	Version      string              `json:"version"`
	Capabilities jsontext.Value      `json:"capabilities,omitzero"`
	Offered      jsontext.Value      `json:"offered,omitzero"`
	Withheld     []string            `json:"withheld,omitzero"`
	Client       jsontext.Value      `json:"client"`
	Ready        bool                `json:"ready,omitzero"`
	Level        string              `json:"level,omitzero"`
	URIs         []savedSubscription `json:"uris,omitzero"`
}

type savedSubscription struct {
	Server string `json:"server"`
	URI    string `json:"uri"`
	Own    string `json:"own"`
}

// Persistent reports whether the session survives the host. For that there must be an actor that
// stores it, and its client must have an id with which it can come back over any connection. Other
// sessions end with their connection.
func (h *Handle) Persistent() bool {
	return h.storage != (otp.Ref{}) && h.peer == nil && h.Streamed()
}

// Storage returns the actor that stores the session.
func (h *Handle) Storage() otp.Ref { return h.storage }

// TakeRestored reports whether the session was opened in an earlier host. It returns true only
// once, to the session's first actor in this host.
func (h *Handle) TakeRestored() bool { return h.dormant.Swap(false) }

// Saved returns the session as a change of the store. It omits subscriptions to which the server
// has not agreed yet, because those are still calls.
func (h *Handle) Saved() store.Change {
	c := store.Change{Bucket: store.Sessions, Key: h.id}
	r := h.Record()
	s := saved{
		Tenant: h.endpoint.Tenant, Server: h.endpoint.Server, Principal: h.endpoint.Principal,
		Opened: h.opened, Idle: int64(h.idle),
		Version: r.Version.String(), Capabilities: r.Capabilities.Raw(), Offered: r.Offered.Raw(),
		Withheld: r.Withheld, Client: r.Client.Raw(), Ready: r.Ready, Level: r.Level,
	}
	s.Channel = h.channel || h.streams != nil && h.streams.Channel()
	if h.row != rowOf(h.id) {
		s.Row = h.row
	}
	if last := h.last.Load(); last != 0 {
		h.storedLast.Store(last)
		s.Active = h.LastActive().Round(time.Millisecond).UTC()
	}
	if h.negotiated != nil {
		s.Terms = h.negotiated.Declaration()
	}
	for _, u := range r.URIs {
		if u.Asking == 0 {
			s.URIs = append(s.URIs, savedSubscription{u.Server, u.URI, u.Own})
		}
	}
	var err error
	if c.Value, err = json.Marshal(s, json.Deterministic(true)); err != nil {
		panic(err) // cannot happen: all raw values were parsed before
	}
	return c
}

// storeAsync stores the session, without waiting. The actor and requests of the client may call it
// at once; the last write wins.
func (h *Handle) storeAsync() {
	h.keeping.Lock()
	defer h.keeping.Unlock()
	if h.Persistent() && !h.closed.Load() && h.Record() != nil {
		_ = h.storage.Send(&storage.Keep{Tenant: h.endpoint.Tenant, Change: h.Saved()})
	}
}

// Forget deletes the stored session. The actor calls it too when its session has ended, because it
// may have stored the session meanwhile.
func (h *Handle) Forget() {
	h.keeping.Lock()
	defer h.keeping.Unlock()
	// the client was refused and has begun again under this id
	if next, ok := h.index.Get(h.id); ok && next != h {
		return
	}
	if h.Persistent() {
		_ = h.storage.Send(&storage.Keep{
			Tenant: h.endpoint.Tenant, Change: store.Change{Bucket: store.Sessions, Key: h.id},
		})
	}
}

// restored makes the handle of a stored session, without an actor. Its client may come back with
// its id.
func restored(id string, value jsontext.Value) (*Handle, error) {
	var s saved
	if err := json.Unmarshal(value, &s); err != nil {
		return nil, err
	}
	h := &Handle{
		id: id, row: cmp.Or(s.Row, rowOf(id)), channel: s.Channel, opened: s.Opened,
		idle:     time.Duration(s.Idle),
		endpoint: streamable.Endpoint{Tenant: s.Tenant, Server: s.Server, Principal: s.Principal},
	}
	h.dormant.Store(true)
	if !s.Active.IsZero() {
		h.last.Store(clock.SteadyNanos(s.Active))
	}
	version, known := protocol.ParseVersion(s.Version)
	if !known || s.Tenant == "" || len(id) < minID {
		return nil, errors.New("a session without a tenant, an id or a revision")
	}
	r := &Record{Version: version, Withheld: s.Withheld, Ready: s.Ready, Level: s.Level}
	var errs [4]error
	r.Capabilities, errs[0] = protocol.ParseClientCapabilities(s.Capabilities)
	r.Offered, errs[1] = protocol.ParseServerCapabilities(s.Offered)
	r.Client, errs[2] = protocol.ParseImplementation(s.Client)
	if len(s.Terms) > 0 {
		h.negotiated, errs[3] = negotiation.ParseClient(s.Terms)
	}
	for _, u := range s.URIs {
		r.URIs = append(r.URIs, Subscription{Server: u.Server, URI: u.URI, Own: u.Own})
	}
	h.record.Store(r)
	return h, errors.Join(errs[:]...)
}

// minID is a lower bound on the length of session ids.
const minID = 32

// restore takes over the sessions of an earlier host. A session that cannot be read, or is no
// longer served, is deleted. A session that crashes the manager is set aside.
func (m *Manager) restore() {
	if m.o.Restore == nil {
		return
	}
	events := m.savedEvents()
	for id, value := range m.o.Restore {
		if _, ok := m.index.Get(id); ok { // an incarnation that did not become ready has restored it
			delete(events, id)
			continue
		}
		of := func() string { t, _ := jsonedit.GetString(value, "tenant"); return t }
		reading := storage.Reading{
			Change: store.Change{Bucket: store.Sessions, Key: id, Value: value}, Kind: "session",
			Name: rowOf(id), Tenant: of, Storage: m.o.Storage(),
		}
		var h *Handle
		if !m.o.Records.Read(m.p, reading, func() { h = m.restoreOne(id, value) }) || h == nil {
			continue
		}
		m.restoreStreams(h, events[id])
		delete(events, id)
		m.index.add(h)
	}
	for id, of := range sortedmap.Sorted(events) {
		for _, e := range of {
			m.o.Store.Discard(e.Key)
		}
		m.dropped(id, "event", errGone)
	}
	for _, e := range m.droppedRecords.events(m.p.Path()) {
		m.o.Emit(e)
	}
}

// restoreOne makes the handle of a stored session. It returns nil if the session is to be
// forgotten.
func (m *Manager) restoreOne(id string, value jsontext.Value) *Handle {
	now := m.o.Clock.Now()
	h, err := restored(id, value)
	if err == nil && m.o.Limit(h.endpoint.Tenant) == 0 {
		err = errors.New("its tenant is gone")
	}
	if err == nil && m.index.Len() >= m.o.Total() {
		err = errors.New("max_total_sessions is reached")
	}
	if err == nil && m.o.Serves != nil && !m.o.Serves(h.endpoint) {
		err = errors.New(telemetry.ClosedUnconfigured.Phrase())
	}
	if err != nil {
		tenant := ""
		if h != nil {
			tenant = h.endpoint.Tenant
		}
		_ = m.p.Send(m.o.Storage(), &storage.Keep{
			Tenant: tenant, Change: store.Change{Bucket: store.Sessions, Key: id},
		})
		m.dropped(id, "session", err)
		return nil
	}
	h.clock, h.manager, h.storage, h.index, h.streams = m.o.Clock, m.p.Self(), m.o.Storage(), m.index,
		m.newStreams(h)
	h.opened = clock.FromStored(now, h.opened)
	h.last.Store(clock.SteadyNanos(now) - int64(m.idleBefore(h, now)))
	if cause, is := m.expired(h, now); is {
		h.Forget()
		h.streams.Close()
		m.o.Emit(telemetry.SessionClosed{
			Where: h.closedAt(cause), Cause: cause, Age: now.Sub(h.opened),
		})
		return nil
	}
	return h
}

// newStreams makes the streams of a session of an earlier host.
func (m *Manager) newStreams(h *Handle) *streamable.Streams {
	if h.channel {
		return m.o.Store.Channel(h.endpoint.Tenant, h.id)
	}
	return m.o.Store.Streams(h.endpoint.Tenant, h.id)
}

// dropped notes a stored record that is of no use. The method restore reports them.
func (m *Manager) dropped(id, kind string, cause error) {
	m.droppedRecords.add(rowOf(id), kind, cause.Error())
}

// closedAt returns the session for an event about its end. Routine ends are logged at debug level:
// those by the client, and those after the session's time.
func (h *Handle) closedAt(cause telemetry.Closing) telemetry.Where {
	return telemetry.Where{
		Tenant: h.endpoint.Tenant, Server: h.endpoint.Server, Session: h.row, Routine: cause.Routine(),
	}
}

// idleBefore returns how long a session of an earlier host has been idle, as far as that is known.
// The time without a host counts, because the client was not heard of then either.
func (m *Manager) idleBefore(h *Handle, now time.Time) time.Duration {
	last := h.last.Load()
	if last == 0 { // the host that stored it did not store the time
		return 0
	}
	return max(0, time.Duration(clock.SteadyNanos(now)-last)-grain(m.idleLimit(h)))
}

var errGone = errors.New("its session is gone")

// savedEvents returns the stored stream events, by session.
func (m *Manager) savedEvents() map[string][]streamable.Saved {
	of := map[string][]streamable.Saved{}
	if m.o.Events == nil {
		return of
	}
	for key, value := range m.o.Events {
		id := streamable.SavedFor(key)
		of[id] = append(of[id], streamable.Saved{Key: key, Value: value})
	}
	return of
}

// restoreStreams gives a restored session its stored stream events. Useless events are dropped, and
// reported once for each reason. If the events crash the manager, all of them are set aside, and
// the session begins without.
func (m *Manager) restoreStreams(h *Handle, events []streamable.Saved) {
	if len(events) == 0 {
		return
	}
	reading := storage.Reading{
		Change: store.Change{Bucket: store.Events, Key: h.id, Value: joined(events)}, Kind: "events",
		Name:   h.row,
		Tenant: func() string { return h.endpoint.Tenant }, Storage: m.o.Storage(),
	}
	var dropped []error
	if !m.o.Records.Read(m.p, reading, func() { dropped = h.streams.Restore(events) }) {
		for _, e := range events {
			m.o.Store.Discard(e.Key)
		}
		h.streams = m.newStreams(h) // its state after the crash is unknown
	}
	told := map[string]bool{}
	for _, err := range dropped {
		if reason := err.Error(); !told[reason] {
			told[reason] = true
			m.dropped(h.id, "event", err)
		}
	}
}

// joined returns all events of a session as one value.
func joined(events []streamable.Saved) jsontext.Value {
	all := jsontext.Value("[")
	for i, e := range events {
		if i > 0 {
			all = append(all, ',')
		}
		all = append(all, e.Value...)
	}
	return append(all, ']')
}
