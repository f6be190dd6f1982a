package questions

import (
	"crypto/sha256"
	"iter"
	"time"

	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// Max bounds the questions of one server that are open at the same time.
const Max = 64

// Question is a question that a client is answering.
type Question[To any] struct {
	ID             jsonrpc.ID // the server's own
	Method         string
	To             To               // the client that is asked
	Client         protocol.Version // of the client that is asked; 0 when that is not known
	Call           uint64           // the exchange it belongs to; 0 when none
	Of             Caller           // of that exchange
	OnlyDuringCall bool             // nobody can answer it after the end of that exchange
	// Round is the number of a question that a modern server asks in a result, and that the host then
	// asks a legacy client by a request (see package rounds). It is 0 for a request of the server.
	Round     int
	Since     time.Time         // when it was asked; zero for one of a round trip
	Same      [sha256.Size]byte // by which other connections know it; zero when they need not
	HeldBytes int               // bytes of an answer that the server cannot be given yet; 0 for none
}

// Caller is what is told of a call while it asks its user.
type Caller struct {
	Session string
	Asker   string // the tool, prompt or resource that asks
}

// Call is a call in flight during which a server may ask its client something.
type Call struct {
	Exchange uint64
	Beside   bool // it was written out of turn, beside a call whose user is being asked
}

// Table holds the open questions. The zero Table is empty.
type Table[To any] struct{ open map[string]*Question[To] }

// Room returns why a question cannot be asked: there are too many, or one with its id is open.
func (t *Table[To]) Room(id jsonrpc.ID) error {
	if len(t.open) >= Max {
		return protocol.Overloaded("client", 0)
	}
	if t.open[id.Raw()] != nil {
		return protocol.RequestIDConflict(id)
	}
	return nil
}

// Add adds a question.
func (t *Table[To]) Add(q *Question[To]) {
	if t.open == nil {
		t.open = map[string]*Question[To]{}
	}
	t.open[q.ID.Raw()] = q
}

// Get returns the question with this id, nil for none.
func (t *Table[To]) Get(id string) *Question[To] { return t.open[id] }

// Take removes and returns the question with this id, nil for none.
func (t *Table[To]) Take(id string) *Question[To] {
	q := t.open[id]
	delete(t.open, id)
	return q
}

// Len returns how many are open.
func (t *Table[To]) Len() int { return len(t.open) }

// All iterates over the questions by their ids. A question that is taken out meanwhile is left out.
func (t *Table[To]) All() iter.Seq2[string, *Question[To]] { return sortedmap.Sorted(t.open) }

// During iterates over the questions that a user is asked during one of the calls in flight.
func (t *Table[To]) During(inFlight func(exchange uint64) bool) iter.Seq2[string, *Question[To]] {
	return func(yield func(string, *Question[To]) bool) {
		for id, q := range sortedmap.Sorted(t.open) {
			if q.Round == 0 && q.HeldBytes == 0 && inFlight(q.Call) && !yield(id, q) {
				return
			}
		}
	}
}

// LateBytes returns the size of the answers to questions of a call that the server cannot be given
// yet.
func (t *Table[To]) LateBytes(call uint64) (n int) {
	for _, q := range t.open {
		if q.Call == call {
			n += q.HeldBytes
		}
	}
	return n
}

// Passable returns since when other calls may be written beside those in flight: when the newest
// question was asked that one of them waits for. It reports false unless each of them waits for its
// user, or was itself written beside one that does.
func (t *Table[To]) Passable(calls iter.Seq[Call]) (since time.Time, ok bool) {
	asked := map[uint64]time.Time{}
	for _, q := range t.open {
		if q.Round == 0 && q.HeldBytes == 0 && q.Since.After(asked[q.Call]) {
			asked[q.Call] = q.Since
		}
	}
	for c := range calls {
		at, asks := asked[c.Exchange]
		switch {
		case c.Beside:
		case !asks:
			return time.Time{}, false
		case at.After(since):
			since, ok = at, true
		}
	}
	return since, ok
}
