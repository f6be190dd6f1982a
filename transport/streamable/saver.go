package streamable

import (
	"container/list"
	"sync"

	"github.com/go-json-experiment/json"
)

// MaxSavedBytes bounds what is written down of the streams of all sessions. It is read when a host starts, and copied whenever the store is
// written anew, so it is less than what is kept in memory.
const MaxSavedBytes = 64 << 20

// savedPart is how much Unsaved hands out at once: what others write waits behind it.
const savedPart = 1 << 20

// saver is the list of what is to be on the disk of all sessions, and of what of that is not yet. It is safe for concurrent use, and
// writes nothing itself.
type saver struct {
	wake  func() // says that there is something to write; it does not wait
	bytes int    // bound of used

	mu    sync.Mutex // guards the rest
	used  int
	live  map[string]*list.Element
	order list.List // of *savedRecord, oldest first
	dirty map[string]*list.Element
	turn  list.List // of unsavedChange: what differs from what was handed out, in the order in which it came to
	woken bool
}

// unsavedChange is that something is to be written, or with nil deleted.
type unsavedChange struct {
	key    string
	record *savedRecord
}

type savedRecord struct {
	key    string
	at     int64
	data   []byte // nil once it was handed out
	size   int
	handed bool
}

func newSaver(wake func(), bytes int) *saver {
	return &saver{wake: wake, bytes: bytes, live: map[string]*list.Element{}, dirty: map[string]*list.Element{}}
}

// save lists an event. The oldest make room for it.
func (s *saver) save(key string, at int64, data []byte) {
	s.put(&savedRecord{key: key, at: at, data: data, size: len(key) + len(data)})
}

// restored lists an event that is on the disk already.
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

// forget takes an event off the list.
func (s *saver) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.live[key]; e != nil {
		s.drop(e)
	}
}

// discard deletes what was never on the list.
func (s *saver) discard(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(key, nil)
}

// drop takes e off the list. One that was never handed out is on no disk.
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

// written takes a change off the list of what is to be written.
func (s *saver) written(e *list.Element) unsavedChange {
	c := s.turn.Remove(e).(unsavedChange)
	delete(s.dirty, c.key)
	return c
}

// change has a key written, or with nil deleted.
func (s *saver) change(key string, r *savedRecord) {
	if e := s.dirty[key]; e != nil {
		e.Value = unsavedChange{key, r}
	} else {
		s.dirty[key] = s.turn.PushBack(unsavedChange{key, r})
	}
	if !s.woken {
		s.woken = true
		s.wake()
	}
}

// unsaved hands out changes, and reports whether there are more.
func (s *saver) unsaved() (part []Saved, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := 0
	for s.turn.Len() > 0 {
		if size > savedPart {
			return part, true
		}
		next := s.written(s.turn.Front())
		key, r := next.key, next.record
		change := Saved{Key: key}
		if r != nil {
			var err error
			if change.Value, err = json.Marshal(savedEvent{r.at, string(r.data)}); err != nil {
				change.Value = nil // no JSON text of ours is that: it is not UTF-8
			}
			r.data, r.handed = nil, true
		}
		size += len(key) + len(change.Value)
		part = append(part, change)
	}
	s.woken = false
	return part, false
}
