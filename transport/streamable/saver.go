package streamable

import (
	"container/list"
	"sync"

	"github.com/go-json-experiment/json"
)

// MaxSavedBytes limits the stored events of the streams of all sessions. They are read when a host
// starts, and copied whenever the state file is rewritten, so the limit is lower than that of the
// events in memory.
const MaxSavedBytes = 64 << 20

// savedPart is the size, in bytes, after which Unsaved returns a part. Other writers wait for each
// part.
const savedPart = 1 << 20

// saver lists the events of all sessions that are to be on the disk, and the changes that are not
// yet written. It is safe for concurrent use, and writes nothing itself.
type saver struct {
	wake  func() // reports that there is something to write; must not wait
	bytes int    // limit of used

	mu      sync.Mutex // guards the rest
	used    int
	live    map[string]*list.Element
	order   list.List // of *savedRecord, oldest first
	dirty   map[string]*list.Element
	pending list.List // of unsavedChange: changes not yet returned by unsaved, in their order
	woken   bool
}

// unsavedChange says that a record is to be written or, if record is nil, deleted.
type unsavedChange struct {
	key    string
	record *savedRecord
}

type savedRecord struct {
	key    string
	at     int64
	data   []byte // nil after it was returned by unsaved
	size   int
	handed bool
}

func newSaver(wake func(), bytes int) *saver {
	return &saver{
		wake: wake, bytes: bytes, live: map[string]*list.Element{}, dirty: map[string]*list.Element{},
	}
}

// save adds an event. If space is short, the oldest events are dropped.
func (s *saver) save(key string, at int64, data []byte) {
	s.put(&savedRecord{key: key, at: at, data: data, size: len(key) + len(data)})
}

// restored adds an event that is already on the disk.
func (s *saver) restored(key string, size int) {
	s.put(&savedRecord{key: key, size: len(key) + size, handed: true})
}

func (s *saver) put(r *savedRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[r.key] = s.order.PushBack(r)
	s.used += r.size
	if !r.handed {
		s.change(r.key, r)
	}
	for s.used > s.bytes && s.order.Len() > 0 {
		s.drop(s.order.Front())
	}
}

// forget removes an event.
func (s *saver) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.live[key]; e != nil {
		s.drop(e)
	}
}

// discard deletes a stored event that was never added.
func (s *saver) discard(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(key, nil)
}

// drop removes e. An event that unsaved has not returned is not on the disk.
func (s *saver) drop(e *list.Element) {
	r := s.order.Remove(e).(*savedRecord)
	delete(s.live, r.key)
	s.used -= r.size
	if r.handed {
		s.change(r.key, nil)
	} else if e := s.dirty[r.key]; e != nil {
		s.written(e)
	}
}

// written removes a change from the list of pending changes.
func (s *saver) written(e *list.Element) unsavedChange {
	c := s.pending.Remove(e).(unsavedChange)
	delete(s.dirty, c.key)
	return c
}

// change schedules a key to be written or, if r is nil, deleted.
func (s *saver) change(key string, r *savedRecord) {
	if e := s.dirty[key]; e != nil {
		e.Value = unsavedChange{key, r}
	} else {
		s.dirty[key] = s.pending.PushBack(unsavedChange{key, r})
	}
	if !s.woken {
		s.woken = true
		s.wake()
	}
}

// unsaved returns pending changes, and reports whether there are more.
func (s *saver) unsaved() (part []Saved, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := 0
	for s.pending.Len() > 0 {
		if size > savedPart {
			return part, true
		}
		next := s.written(s.pending.Front())
		key, r := next.key, next.record
		change := Saved{Key: key}
		if r != nil {
			var err error
			if change.Value, err = json.Marshal(savedEvent{r.at, string(r.data)}); err != nil {
				change.Value = nil // JSON text from this host is valid UTF-8, so this does not happen
			}
			r.data, r.handed = nil, true
		}
		size += len(key) + len(change.Value)
		part = append(part, change)
	}
	s.woken = false
	return part, false
}
