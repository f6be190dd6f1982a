// Package store keeps what a host must know after it was killed: values under names, in one file that is a log of lines. A line that is broken
// costs that value and no other. It does not know what the values mean, decides nothing about when they are written, and has no goroutine.
// One daemon at a time uses a directory.
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
	Sessions      Bucket = "sessions"      // by their ids: downstream sessions that were acknowledged
	Events        Bucket = "events"        // by session and id: of streams whose clients were not there
	Secrets       Bucket = "secrets"       // by purpose: what this host seals with
	Configuration Bucket = "configuration" // which one was applied last
	// Tenants are by name: those that have ended by themselves, or are not to be started.
	Tenants Bucket = "tenants"
	// Quarantines are by tenant and server: those that are not to be started.
	Quarantines Bucket = "quarantines"
	// Aside are, by bucket and key, records on which whoever read them crashed. No host reads them again.
	Aside Bucket = "aside"
)

// How the buckets of tenants begin. Each tenant has its own, because each reads its own.
const (
	lists = "lists/"
	tasks = "tasks/"
)

// Lists is the bucket of what the servers of a tenant have listed, by server and connection.
func Lists(tenant string) Bucket { return Bucket(lists + tenant) }

// Tasks is the bucket of those tasks of a tenant that clients know of, by row.
func Tasks(tenant string) Bucket { return Bucket(tasks + tenant) }

// TenantOf is the tenant whose lists or tasks are in a bucket; ok is false of any other bucket.
func TenantOf(b Bucket) (tenant string, ok bool) {
	if tenant, ok = strings.CutPrefix(string(b), lists); !ok {
		tenant, ok = strings.CutPrefix(string(b), tasks)
	}
	return tenant, ok
}

// Change is a value that is new. A nil Value deletes.
type Change struct {
	Bucket Bucket
	Key    string
	Value  jsontext.Value
}

// The log is written anew without what is outdated when that is more than half of it, and more than this.
const minGarbage = 1 << 20

// file is its name in the state directory.
const file = "state.log"

// place is where a line is.
type place struct {
	at int64
	n  int
}

// Store is an open log. It is safe for concurrent use.
type Store struct {
	path string
	own  func() error         // see Open
	sync func(*os.File) error // (*os.File).Sync, but in tests

	mu      sync.Mutex // guards what follows
	f       *os.File
	size    int64 // of what is whole
	garbage int64 // of which is outdated
	torn    bool  // behind it may be a piece of a line
	doubted bool  // a sync of it has failed: what it says may never come to the disk
	live    map[Bucket]map[string]place
}

// Damage says what could not be read when a store was opened, and what the file is called now that it was in.
type Damage struct {
	Lines int    // that were left out; 0 when it is no file of ours, and nothing of it was read
	Torn  int64  // bytes of a last line without an end, when nothing else was broken: they were cut off
	Kept  string // empty when only those are missing
	Err   error  // of the first of them
}

func (d *Damage) Error() string {
	if d.Torn > 0 {
		return fmt.Sprintf("the state ends within a line: %d bytes were cut off, and what was behind them is lost; a host or a machine that is killed during the last write leaves that: %v", d.Torn, d.Err)
	}
	if d.Lines == 0 {
		return fmt.Sprintf("state is not readable and was set aside as %s: %v", d.Kept, d.Err)
	}
	return fmt.Sprintf("%d lines of the state are not readable and were left out; the file is kept as %s: %v", d.Lines, d.Kept, d.Err)
}

func (d *Damage) Unwrap() error { return d.Err }

// Open opens the log in a directory, or makes it. What cannot be read stops no start: damage tells of it. Own makes sure that the directory is
// there and this host's alone, as it is when Open is called; it is called before every write. Nil is for a directory that nobody else touches.
func Open(dir string, own func() error) (s *Store, damage *Damage, err error) {
	if own == nil {
		own = func() error { return nil }
	}
	s = &Store{path: filepath.Join(dir, file), own: own, sync: (*os.File).Sync, live: map[Bucket]map[string]place{}}
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
	if err = s.rewrite(); err != nil && s.size == 0 { // one that has a broken line can be used
		if s.f != nil {
			_ = s.f.Close()
		}
		return nil, nil, err
	}
	return s, damage, nil
}

// maxAside bounds the files that are set aside; the last takes the place of its predecessor from then on.
const maxAside = 100

// setAside gives the file a second name that none has yet.
func setAside(path string) (kept string, err error) {
	for n := 1; ; n++ {
		kept = fmt.Sprintf("%s.aside-%d", path, n)
		if n == maxAside {
			_ = os.Remove(kept) // if it cannot be, Link says so
		}
		if err = os.Link(path, kept); n == maxAside || !errors.Is(err, os.ErrExist) {
			return kept, err
		}
	}
}

// load reads every line. Of a file that is not ours it keeps nothing; ours is never empty, since it is renamed when its first line is there.
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
		s.note(c, place{at, int(r.at - at)})
	}
}

// note takes account of a line that is there now.
func (s *Store) note(c Change, at place) {
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

func (s *Store) put(b Bucket, key string, at place) {
	if s.live[b] == nil {
		s.live[b] = map[string]place{}
	}
	s.live[b][key] = at
}

// Apply writes changes, which are to have passed Check: one that does not keeps the others from being written. When it returns, they are with
// the kernel, where the next host looks for them, and survive the death of this process; see Sync and Verify. After an error none of them may be.
func (s *Store) Apply(changes []Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []byte
	places := make([]place, len(changes))
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
		places[i] = place{s.size + int64(at), len(lines) - at}
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
		if s.rewrite() != nil { // it is tried again when there is as much garbage once more
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

// Buckets are those in which there is something, in the order of their names.
func (s *Store) Buckets() []Bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.live))
}

// All yields what is in a bucket, in the order of the keys. What cannot be read any more is left out.
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

// Get is one value, nil when there is none.
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

func (s *Store) line(at place) ([]byte, error) {
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
