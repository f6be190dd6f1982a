package streamable

import (
	"cmp"
	"errors"
	"math"
	"strings"

	"github.com/go-json-experiment/json"

	"mcpd/protocol/jsonrpc"
)

// Saved is an event as it is saved to the disk. A nil Value means that it is to be deleted.
type Saved struct {
	Key   string // begins with the id of its session: see SavedFor
	Value []byte
}

// savedEvent is the JSON form of Saved.Value.
type savedEvent struct {
	At   int64  `json:"at"`   // when it was added, in Unix nanoseconds
	Data string `json:"data"` // the exact text; embedded as JSON, it might be reformatted
}

// SavedFor returns the id of the session that a key belongs to.
func SavedFor(key string) (session string) {
	session, _, _ = strings.Cut(key, ".")
	return session
}

// restoredEvent is an event that an earlier host process has saved.
type restoredEvent struct {
	key    string
	id     eventID
	nonce  string
	at     int64
	weight importance
	data   []byte
	size   int // of the value
}

var (
	errExpired = errors.New("its time is over")
	errPlace   = errors.New("not an event of its stream")
)

// parseSaved parses a saved event of a session. now is the current nonce of the session.
func parseSaved(session, now string, saved Saved) (e restoredEvent, err error) {
	text, ours := strings.CutPrefix(saved.Key, session+".")
	if e.id, e.nonce, err = parseEventID(text); err != nil || !ours || !earlier(e.nonce, now) ||
		text != string(e.id.append(nil, e.nonce)) {
		return e, errEventID
	}
	post := e.id.kind == postStream
	if _, asked := e.id.decodeRequestID(); e.id.kind == answeredStream || asked != post ||
		post != (e.id.stream != 0) || e.id.seq == 0 || e.id.seq > math.MaxInt64 {
		return e, errPlace
	}
	var value savedEvent
	if err := json.Unmarshal(saved.Value, &value); err != nil {
		return e, err
	}
	m, err := jsonrpc.Decode([]byte(value.Data), jsonrpc.Limits{})
	if err != nil {
		return e, err
	}
	_, w := encode(m)
	if w == question || w == outcome && !post || strings.ContainsAny(value.Data, "\r\n") {
		return e, errPlace
	}
	e.key, e.at, e.weight, e.data, e.size = saved.Key, value.At, w, []byte(value.Data),
		len(saved.Value)
	return e, nil
}

// compare orders the events of each stream by their sequence numbers.
func (e restoredEvent) compare(other restoredEvent) int {
	return cmp.Or(strings.Compare(e.nonce, other.nonce), cmp.Compare(e.id.stream, other.id.stream),
		cmp.Compare(e.id.seq, other.id.seq))
}
