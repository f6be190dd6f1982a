package streamable

import (
	"sync/atomic"
	"time"

	"mcpd/internal/clock"
	"mcpd/internal/highwater"
)

// Limits of the events that are stored for clients that read slowly or reconnect (2025-11-25
// §basic/transports, "Resumability and Redelivery").
const (
	// DefaultStreamEvents and DefaultStreamBytes limit one stream: the events that wait to be written,
	// and the events stored for a resumption. A tool that logs in a loop fills the first within a
	// millisecond, so a client that reads at the same time loses little that a person would read.
	DefaultStreamEvents = 1024
	DefaultStreamBytes  = 1 << 20
	// DefaultSessionBytes allows complete storage of a few busy streams of one client.
	DefaultSessionBytes = 4 << 20
	// DefaultTotalBytes limits the history of all sessions, for a host with 1 GiB.
	DefaultTotalBytes = 256 << 20
	// DefaultTTL is how long a client may be disconnected, for example in a tunnel or while a laptop
	// moves.
	DefaultTTL = 5 * time.Minute
	// DefaultGETs limits the open GET streams of one session. One is normal. Browsers with several
	// tabs, and clients that reconnect before a loss was noticed, need a few.
	DefaultGETs = 8
	// keptStreams is the number of finished POST streams that are stored for a resumption. It equals
	// the number of requests that a session may have in flight, so that a client that lost its
	// connection finds all of them.
	keptStreams = 256
	// sweepEvery is the maximum delay before an expired event is dropped. A sweep takes one timer per
	// session, which runs only while there is something to drop.
	sweepEvery = 20 * time.Second
)

// StoreOptions sets the limits of a Store. Zero fields mean the defaults of the same names.
type StoreOptions struct {
	Clock        clock.Clock   // default: clock.System
	StreamEvents int           // events of one stream that wait, and that are stored
	StreamBytes  int           // bytes of the same
	SessionBytes int           // bytes stored for one session
	TotalBytes   int           // bytes stored for all
	TTL          time.Duration // how long an event is stored
	GETs         int           // GET streams that one session may have open
	// Account returns the account for the bytes stored for a tenant. Nil counts nothing.
	Account func(tenant string) Account
	// Save is called when Unsaved has something to return, and must not wait. Nil is for a process
	// that saves nothing for its successor.
	Save       func()
	SavedBytes int // bytes on the disk for all sessions; default: MaxSavedBytes
}

// Account counts the bytes of stored histories of one tenant. It is safe for concurrent use.
type Account interface {
	Keep(bytes int) // adds bytes, or releases them if negative
	Full() bool     // the tenant has reached its limit
}

// noAccount is an account that counts nothing.
type noAccount struct{}

func (noAccount) Keep(int)   {}
func (noAccount) Full() bool { return false }

func (o StoreOptions) orDefaults() StoreOptions {
	if o.Clock == nil {
		o.Clock = clock.System
	}
	for _, f := range []struct {
		field *int
		value int
	}{
		{&o.StreamEvents, DefaultStreamEvents}, {&o.StreamBytes, DefaultStreamBytes},
		{&o.SessionBytes, DefaultSessionBytes},
		{&o.TotalBytes, DefaultTotalBytes}, {&o.GETs, DefaultGETs},
		{&o.SavedBytes, MaxSavedBytes},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	if o.Account == nil {
		o.Account = func(string) Account { return noAccount{} }
	}
	if o.TTL <= 0 {
		o.TTL = DefaultTTL
	}
	return o
}

// Store holds what the streams of all sessions share: the limits, the clock, and the number of
// stored bytes. A process needs one.
type Store struct {
	options StoreOptions
	used    atomic.Int64
	saver   *saver // nil if nothing is saved to the disk
	marks   Marks
}

// NewStore returns a Store.
func NewStore(o StoreOptions) *Store {
	s := &Store{options: o.orDefaults()}
	if o.Save != nil {
		s.saver = newSaver(o.Save, s.options.SavedBytes)
	}
	return s
}

// Unsaved returns changes that are to be written to the disk or deleted there, each change once and
// a part of them at a time. It reports whether there are more. Save is called when there are new
// changes.
func (s *Store) Unsaved() (part []Saved, more bool) {
	if s.saver == nil {
		return nil, false
	}
	return s.saver.unsaved()
}

// Discard schedules the deletion of a saved record that no Streams will restore.
func (s *Store) Discard(key string) {
	if s.saver != nil {
		s.saver.discard(key)
	}
}

// Streams returns the Streams of a tenant's session with this id. The session is new, or was
// restored after a restart of the host.
func (s *Store) Streams(tenant, of string) *Streams {
	return &Streams{store: s, tenant: tenant, sessionID: of}
}

// Bytes returns the number of bytes stored for all sessions.
func (s *Store) Bytes() int64 { return s.used.Load() }

// Marks are the high-water marks of a Store's queues.
type Marks struct {
	Events, Bytes highwater.Mark // waiting for one client
	History       highwater.Mark // bytes stored for all sessions
}

// Marks returns the high-water marks of this Store.
func (s *Store) Marks() *Marks { return &s.marks }

// Limits returns the limits of the Store.
func (s *Store) Limits() StoreOptions { return s.options }

// plain returns Streams without event ids that cannot be resumed, for an exchange that belongs to
// no session.
func (s *Store) plain(tenant string) *Streams {
	return &Streams{store: s, tenant: tenant, plain: true}
}

// now returns the current time for entries, in nanoseconds of clock.SteadyNanos.
func (s *Store) now() int64 { return clock.SteadyNanos(s.options.Clock.Now()) }

// diskTime converts the time of an entry to Unix nanoseconds, which another process can interpret.
func (s *Store) diskTime(at int64) int64 {
	return clock.WallTime(s.options.Clock.Now(), at).UnixNano()
}

// fromDiskTime converts the time of a saved entry back.
func (s *Store) fromDiskTime(at int64) int64 {
	now := s.options.Clock.Now()
	return clock.SteadyNanos(clock.FromStored(now, time.Unix(0, at)))
}
