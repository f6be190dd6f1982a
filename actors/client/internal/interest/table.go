package interest

import (
	"maps"
	"time"

	"mcpd/actors/request"
	"mcpd/gateway/quota"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/subscription"
)

// Table is everything that is wanted. It survives a crash of its connection: Step changes it before
// any effect is performed, so that the next incarnation performs an effect that has crashed. See
// Reset.
type Table struct {
	// uris are the resources, and the sessions that want each. False is a subscription that the server
	// has not agreed to yet. bytes is the size of the URIs, and kept counts it.
	uris        map[string]map[string]bool
	bytes       int
	reservation *quota.Reservation
	levels      map[string]string // log level, by session
	intents     map[string]intent // not granted yet, the last of each session
	server                        // see Reset
}

// server is what one server was asked, and has answered.
type server struct {
	before map[string]bool // resources of an earlier server; true if their changes were missed
	// asking has an entry for each resource that the server is being asked about, with those who wait
	// for the answer.
	asking    map[string][]waiter
	later     map[string]bool // resources that the server is asked for again after a pause
	leveling  bool            // it is being asked for a level
	refused   error           // its refusal of the last level
	queue     []Ask           // not sent yet
	queueFull bool            // the server had no room for the first, until Answered or Retry
	out       int             // how many requests the server has not answered
	until     time.Time       // calls wait until then; zero when they do not
}

type intent struct {
	session string
	level   bool // it asked for a level too
	from    Waiter
}

// waiter is a call that waits for a subscription, or else a session that is told then that the
// resource may have changed.
type waiter struct {
	call    *request.Exchange
	session string
}

// New starts with what is known already. The bytes of the table count with kept, which the table
// owns from here on.
func New(reservation *quota.Reservation, uris map[string]map[string]bool,
	levels map[string]string) Table {
	t := Table{
		uris: map[string]map[string]bool{}, levels: map[string]string{}, intents: map[string]intent{},
		reservation: reservation,
	}
	maps.Copy(t.uris, uris)
	maps.Copy(t.levels, levels)
	for uri := range t.uris {
		t.bytes += len(uri)
	}
	t.reservation.Resize(t.bytes)
	t.Reset()
	return t
}

// Reset forgets the server: the next one was asked nothing.
func (t *Table) Reset() {
	t.server = server{
		before: map[string]bool{}, asking: map[string][]waiter{}, later: map[string]bool{},
	}
	for uri := range t.uris {
		t.before[uri] = t.Agreed(uri)
	}
}

// Abandon gives up what is wanted. Everyone who waits is told why.
func (t *Table) Abandon(cause error) {
	t.reservation.Release()
	for _, w := range sortedmap.Sorted(t.intents) {
		w.from.Fail(cause)
	}
}

// Resources returns the resources that are wanted, and the sessions that want each. False means
// that the server has not agreed yet.
func (t *Table) Resources() map[string]map[string]bool { return t.uris }

// Levels returns the log levels that sessions asked for.
func (t *Table) Levels() map[string]string { return t.levels }

// Agreed reports whether the server has agreed to announce changes of a resource.
func (t *Table) Agreed(uri string) bool {
	for _, agreed := range t.uris[uri] {
		if agreed {
			return true
		}
	}
	return false
}

// Awaits reports whether updates of a resource are wanted: as updates of itself, or of one above
// it.
func (t *Table) Awaits(uri string) bool {
	if _, exactly := t.uris[uri]; exactly {
		return true
	}
	for wanted := range t.uris {
		if subscription.Covers(wanted, uri) {
			return true
		}
	}
	return false
}

// Asking reports whether the server is being asked about a resource.
func (t *Table) Asking(uri string) bool {
	_, asking := t.asking[uri]
	return asking
}

// Holds reports whether calls wait although the server is ready.
func (t *Table) Holds() bool { return !t.until.IsZero() }

// Idle reports whether nothing is wanted of the server except log lines.
func (t *Table) Idle() bool { return len(t.uris)+len(t.intents)+t.pending() == 0 }

// pending counts the requests that the server has not answered, sent or not.
func (t *Table) pending() int { return len(t.queue) + t.out }

// verbose returns the most verbose level that any session asked for, empty when none did.
func (t *Table) verbose() (least string) {
	for _, l := range t.levels {
		if least == "" || protocol.AtLeast(least, l) {
			least = l
		}
	}
	return least
}
