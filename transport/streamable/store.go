package streamable

import (
	"sync/atomic"
	"time"

	"mcpd/internal/clock"
	"mcpd/internal/water"
)

// Bounds of what is kept for clients that read slowly or come back (2025-11-25 §basic/transports, "Resumability and Redelivery").
const (
	// DefaultStreamEvents and DefaultStreamBytes bound one stream: what waits to be written, and what is kept for a resumption. A tool that
	// logs in a loop fills the first within a millisecond, so a client that reads meanwhile loses little of what a person would read.
	DefaultStreamEvents = 1024
	DefaultStreamBytes  = 1 << 20
	// DefaultSessionBytes lets a few busy streams of one client be kept whole.
	DefaultSessionBytes = 4 << 20
	// DefaultTotalBytes bounds the history of all sessions: what a host with 1 GiB can spare.
	DefaultTotalBytes = 256 << 20
	// DefaultTTL is how long a client may be away: a train in a tunnel, a laptop carried to the next room.
	DefaultTTL = 5 * time.Minute
	// DefaultGETs bounds the open GET streams of one session. One is the rule; browsers with tabs and reconnects before a loss was
	// noticed need a few.
	DefaultGETs = 8
	// keptStreams is how many finished POST streams are kept for a resumption: as many as a session may have in flight, so that a client
	// that lost its connection finds all of them.
	keptStreams = 256
	// sweepEvery is how late an expired event may be dropped. A sweep is one timer a session, and only while there is something to drop.
	sweepEvery = 20 * time.Second
)

// StoreOptions sets the bounds of a Store. Zero fields mean the defaults of the same names.
type StoreOptions struct {
	Clock        clock.Clock   // default clock.System
	StreamEvents int           // events of one stream that wait, and that are kept
	StreamBytes  int           // bytes of the same
	SessionBytes int           // bytes kept for one session
	TotalBytes   int           // bytes kept for all
	TTL          time.Duration // how long an event is kept
	GETs         int           // GET streams that one session may hold open
	// Kept is where what is kept for a tenant counts. Nil counts nothing.
	Kept func(tenant string) Account
	// Save is called when there is something for Unsaved to hand out, and must not wait. Nil is for a process after which nothing is kept.
	Save       func()
	SavedBytes int // bytes written down for all; default MaxSavedBytes
}

// Account counts the bytes of histories that one tenant has kept for it. It is safe for concurrent use.
type Account interface {
	Keep(bytes int) // or lets go of them, where it is negative
	Full() bool     // the tenant has as much as it may
}

// uncounted is the account of whoever has none.
type uncounted struct{}

func (uncounted) Keep(int)   {}
func (uncounted) Full() bool { return false }

func (o StoreOptions) orDefaults() StoreOptions {
	if o.Clock == nil {
		o.Clock = clock.System
	}
	for _, f := range []struct {
		field *int
		value int
	}{
		{&o.StreamEvents, DefaultStreamEvents}, {&o.StreamBytes, DefaultStreamBytes}, {&o.SessionBytes, DefaultSessionBytes},
		{&o.TotalBytes, DefaultTotalBytes}, {&o.GETs, DefaultGETs},
		{&o.SavedBytes, MaxSavedBytes},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	if o.Kept == nil {
		o.Kept = func(string) Account { return uncounted{} }
	}
	if o.TTL <= 0 {
		o.TTL = DefaultTTL
	}
	return o
}

// Store is what the streams of all sessions share: the bounds, the clock, and the count of bytes kept. One process needs one.
type Store struct {
	options StoreOptions
	used    atomic.Int64
	saver   *saver // nil where nothing is written down
	marks   Marks
}

// NewStore makes a Store.
func NewStore(o StoreOptions) *Store {
	s := &Store{options: o.orDefaults()}
	if o.Save != nil {
		s.saver = newSaver(o.Save, s.options.SavedBytes)
	}
	return s
}

// Unsaved hands out what is to be written down or deleted and was not handed out yet, a part of it at a time, and reports whether there is
// more. Save is called when there is something again.
func (s *Store) Unsaved() (part []Saved, more bool) {
	if s.saver == nil {
		return nil, false
	}
	return s.saver.unsaved()
}

// Discard has what was written down under a key deleted: no streams are there to take it.
func (s *Store) Discard(key string) {
	if s.saver != nil {
		s.saver.discard(key)
	}
}

// Streams makes the streams of a tenant's session with this id: of a new one, or of one that has outlived its host.
func (s *Store) Streams(tenant, of string) *Streams {
	return &Streams{store: s, tenant: tenant, of: of}
}

// Bytes is how much history is kept for all sessions.
func (s *Store) Bytes() int64 { return s.used.Load() }

// Marks are how full its queues ever were.
type Marks struct {
	Events, Bytes water.Mark // that wait for one client
	History       water.Mark // bytes kept for all
}

// Marks are those of this Store.
func (s *Store) Marks() *Marks { return &s.marks }

// Limits are what bounds it.
func (s *Store) Limits() StoreOptions { return s.options }

// plain makes streams that cannot be resumed, without event ids: for an exchange that belongs to no session.
func (s *Store) plain(tenant string) *Streams {
	return &Streams{store: s, tenant: tenant, plain: true}
}

// now is the time of entries.
func (s *Store) now() int64 { return clock.Steady(s.options.Clock.Now()) }

// written is the time of an entry as it is written down: the hour, which another process counts from.
func (s *Store) written(at int64) int64 { return clock.Hour(s.options.Clock.Now(), at).UnixNano() }

// read is the time of an entry that was written down.
func (s *Store) read(at int64) int64 {
	now := s.options.Clock.Now()
	return clock.Steady(clock.Past(now, time.Unix(0, at)))
}
