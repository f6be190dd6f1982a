// Package store keeps the state that a host needs after it was killed: values under names, in one
// file that is a log of lines. A broken line costs one value and no other. The package does not
// know what the values mean, does not decide when they are written, and has no goroutine. A
// directory is used by one daemon at a time.
package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/regular"
)

// Bucket is a kind of values.
type Bucket string

// The buckets.
const (
	Sessions Bucket = "sessions" // by id: downstream sessions that were acknowledged
	// Events holds, by session and event id, events of streams whose clients were not connected.
	Events        Bucket = "events"
	Secrets       Bucket = "secrets"       // by purpose: keys with which this host seals data
	Configuration Bucket = "configuration" // the one that was applied last
	// Tenants holds, by name, tenants that have stopped by themselves or are not to be started.
	Tenants Bucket = "tenants"
	// Quarantines holds, by tenant and server, servers that are not to be started.
	Quarantines Bucket = "quarantines"
	// Aside holds, by bucket and key, records on which their reader crashed. No host reads them again.
	Aside Bucket = "aside"
)

// The prefixes of the buckets of tenants. Each tenant has its own buckets, because it reads only
// those.
const (
	lists = "lists/"
	tasks = "tasks/"
)

// Lists returns the bucket of the lists of a tenant's servers, by server and connection.
func Lists(tenant string) Bucket { return Bucket(lists + tenant) }

// Tasks returns the bucket of a tenant's tasks that clients know of, by row.
func Tasks(tenant string) Bucket { return Bucket(tasks + tenant) }

// TenantOf returns the tenant of a bucket of lists or tasks; ok is false for any other bucket.
func TenantOf(b Bucket) (tenant string, ok bool) {
	if tenant, ok = strings.CutPrefix(string(b), lists); !ok {
		tenant, ok = strings.CutPrefix(string(b), tasks)
	}
	return tenant, ok
}

// Change sets a value. A nil Value deletes it.
type Change struct {
	Bucket Bucket
	Key    string
	Value  jsontext.Value
}

// minGarbage is the garbage, in bytes, that a log may always hold. The log is rewritten when the
// garbage exceeds both minGarbage and half of the log.
const minGarbage = 1 << 20

// file is the name of the log in the state directory.
const file = "state.log"

// location locates a line in the log: its offset and its length with the newline, in bytes.
type location struct {
	at int64
	n  int
}

// Store is an open log. It is safe for concurrent use.
type Store struct {
	path       string
	checkOwner func() error         // see Open
	sync       func(*os.File) error // (*os.File).Sync, except in tests

	mu         sync.Mutex // guards what follows
	f          *os.File
	size       int64 // bytes of complete lines
	garbage    int64 // bytes of outdated lines among them
	torn       bool  // a partial line may follow the complete ones
	syncFailed bool  // a sync has failed: the contents may never reach the disk
	live       map[Bucket]map[string]location
}

// Damage describes the unreadable part of a log at its opening, and the name under which the old
// file is kept.
type Damage struct {
	// Lines is how many lines were left out. If Lines and Torn are both 0, the file is no log of ours,
	// and nothing of it was read.
	Lines int
	// Torn is how many bytes of a last line without an end were cut off, when nothing else was broken.
	Torn int64
	Kept string // empty when only the last line is torn
	Err  error  // the first error
}

func (d *Damage) Error() string {
	if d.Torn > 0 {
		return fmt.Sprintf(
			"the state ends within a line: %d bytes were cut off, and what was behind them is lost; a "+
				"host or a machine that is killed during the last write leaves that: %v", d.Torn, d.Err,
		)
	}
	if d.Lines == 0 {
		return fmt.Sprintf("state is not readable and was set aside as %s: %v", d.Kept, d.Err)
	}
	return fmt.Sprintf(
		"%d lines of the state are not readable and were left out; the file is kept as %s: %v", d.Lines,
		d.Kept, d.Err,
	)
}

func (d *Damage) Unwrap() error { return d.Err }

// Open opens the log in a directory, or creates it. An unreadable part does not prevent the start:
// damage describes it. Own makes sure that the directory exists and that this host alone uses it.
// Apply and Verify call own first; at the time of Open both must be true already. A nil own is for
// a directory that no other process touches.
func Open(dir string, own func() error) (s *Store, damage *Damage, err error) {
	if own == nil {
		own = func() error { return nil }
	}
	s = &Store{
		path: filepath.Join(dir, file), checkOwner: own, sync: (*os.File).Sync,
		live: map[Bucket]map[string]location{},
	}
	s.f, err = regular.OpenFile(s.path, os.O_RDWR, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, nil, fmt.Errorf("store: %w", err)
	default:
		if damage = s.load(); damage == nil || damage.Torn > 0 {
			return s, damage, nil
		}
		if damage.Kept, err = setAside(s.path); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("store: %w", err), s.f.Close())
		}
	}
	if err = s.rewrite(); err != nil && s.size == 0 { // a log with a broken line can be used
		if s.f != nil {
			_ = s.f.Close()
		}
		return nil, nil, err
	}
	return s, damage, nil
}

// maxAside bounds the number of files that are set aside. At the bound, a new file replaces the
// last one.
const maxAside = 100

// setAside gives the file a second, unused name.
func setAside(path string) (kept string, err error) {
	for n := 1; ; n++ {
		kept = fmt.Sprintf("%s.aside-%d", path, n)
		if n == maxAside {
			_ = os.Remove(kept) // if this fails, Link returns an error
		}
		if err = os.Link(path, kept); n == maxAside || !errors.Is(err, os.ErrExist) {
			return kept, err
		}
	}
}

// load reads every line. Of a file that is no log of ours it keeps nothing. A log of ours is never
// empty, because it is renamed only after its first line was written.
func (s *Store) load() *Damage {
	r := newReader(s.f)
	if err := r.header(); err != nil {
		return &Damage{Err: err}
	}
	var damage Damage
	for {
		at := r.at
		c, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			if s.size = r.at; damage.Lines > 0 {
				return &damage
			}
			return nil
		case errors.Is(err, errTorn) && damage.Lines == 0:
			s.size = at
			s.torn = s.f.Truncate(at) != nil
			return &Damage{Torn: r.at - at, Err: err}
		case err != nil:
			if damage.Lines++; damage.Err == nil {
				damage.Err = err
			}
			continue
		}
		s.note(c, location{at, int(r.at - at)})
	}
}

// note accounts for a line that was written or read.
func (s *Store) note(c Change, at location) {
	s.garbage += int64(s.live[c.Bucket][c.Key].n)
	if c.Value != nil {
		s.put(c.Bucket, c.Key, at)
		return
	}
	s.garbage += int64(at.n)
	if delete(s.live[c.Bucket], c.Key); len(s.live[c.Bucket]) == 0 {
		delete(s.live, c.Bucket)
	}
}

func (s *Store) put(b Bucket, key string, at location) {
	if s.live[b] == nil {
		s.live[b] = map[string]location{}
	}
	s.live[b][key] = at
}

// Apply writes changes, each of which must have passed Check: if one cannot be written, none is.
// When Apply returns, the changes are with the kernel, where the next host finds them: they survive
// the death of this process, but see Sync and Verify. After an error this Store has none of them.
// A later Open may still find some, if a partial write could not be cut off.
func (s *Store) Apply(changes []Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []byte
	places := make([]location, len(changes))
	if err := s.verify(); err != nil {
		return err
	}
	if s.torn = s.torn && s.f.Truncate(s.size) != nil; s.torn {
		return errors.New("store: a piece of a line cannot be taken back")
	}
	for i, c := range changes {
		at := len(lines)
		var err error
		if lines, err = appendLine(lines, c); err != nil {
			return fmt.Errorf("store: %s %q: %w", c.Bucket, c.Key, err)
		}
		places[i] = location{s.size + int64(at), len(lines) - at}
	}
	if _, err := s.f.WriteAt(lines, s.size); err != nil {
		s.torn = s.f.Truncate(s.size) != nil
		return fmt.Errorf("store: %w", err)
	}
	s.size += int64(len(lines))
	for i, c := range changes {
		s.note(c, places[i])
	}
	if s.garbage > max(minGarbage, s.size/2) {
		if s.rewrite() != nil { // tried again when there is as much new garbage
			s.garbage = 0
		}
	}
	return nil
}

// Has reports whether there is a value.
func (s *Store) Has(b Bucket, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.live[b][key]
	return ok
}

// Buckets returns the non-empty buckets, sorted by name.
func (s *Store) Buckets() []Bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.live))
}

// All yields the values of a bucket, in the order of the keys. It leaves out values that cannot be
// read any more.
func (s *Store) All(b Bucket) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		s.mu.Lock()
		keys := slices.Sorted(maps.Keys(s.live[b]))
		s.mu.Unlock()
		for _, key := range keys {
			if v := s.Get(b, key); v != nil && !yield(key, v) {
				return
			}
		}
	}
}

// Get returns one value; nil when there is none, or when it cannot be read any more.
func (s *Store) Get(b Bucket, key string) jsontext.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.live[b][key]
	if !ok {
		return nil
	}
	line, err := s.line(at)
	if err != nil {
		return nil
	}
	c, err := parseLine(line)
	if err != nil {
		return nil
	}
	return c.Value
}

func (s *Store) line(at location) ([]byte, error) {
	line := make([]byte, at.n)
	if _, err := s.f.ReadAt(line, at.at); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line, []byte("\n")), nil
}

// Close syncs and closes the log.
func (s *Store) Close() error {
	err := s.Sync()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(err, s.f.Close())
}
