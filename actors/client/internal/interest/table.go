package interest

import (
	"maps"
	"time"

	"mcpd/actors/request"
	"mcpd/gateway/quota"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/protocol/subscription"
)

// Table is all that is wanted. It survives a crash of its connection: Step changes it before any
// effect is done, so that the next incarnation does what an effect has crashed on. See Reset.
type Table struct {
	// uris lists the resources and the sessions that want each. False is a subscription to which the
	// server has not agreed yet. bytes are those of the URIs, and kept counts them.
	uris   map[string]map[string]bool
	bytes  int
	kept   *quota.Reservation
	levels map[string]string // log level, by session
	wishes map[string]wish   // not granted yet, the last of each session
	server                   // see Reset
}

// server is what one server was asked, and has answered.
type server struct {
	before   map[string]bool     // resources of an earlier one; true for those whose news was missed
	asking   map[string][]waiter // who waits for the answer about a resource; there for each that is asked about
	leveling bool                // it is being asked for a level
	refused  error               // its answer to the last
	queue    []Ask               // not sent yet
	crowded  bool                // there was no room for the first, until Answered or Retry
	out      int                 // what it has not answered
	until    time.Time           // calls wait; zero when they do not
}

type wish struct {
	session string
	level   bool // it was about that too
	from    Waiter
}

// waiter is a call that waits for a subscription, or else a session that hears of the resource
// then.
type waiter struct {
	call    *request.Exchange
	session string
}

// New begins with what is known already. Its bytes count with kept, which is the table's from here.
func New(kept *quota.Reservation, uris map[string]map[string]bool, levels map[string]string) Table {
	t := Table{uris: map[string]map[string]bool{}, levels: map[string]string{}, wishes: map[string]wish{}, kept: kept}
	maps.Copy(t.uris, uris)
	maps.Copy(t.levels, levels)
	for uri := range t.uris {
		t.bytes += len(uri)
	}
	t.kept.Resize(t.bytes)
	t.Reset()
	return t
}

// Reset forgets the server: the next one was asked nothing.
func (t *Table) Reset() {
	t.server = server{before: map[string]bool{}, asking: map[string][]waiter{}}
	for uri := range t.uris {
		t.before[uri] = t.Agreed(uri)
	}
}

// Abandon gives up what is wanted. Whoever waits is told why.
func (t *Table) Abandon(why error) {
	t.kept.Release()
	for _, w := range order.Of(t.wishes) {
		w.from.Fail(why)
	}
}

// Resources are the resources that are wanted, and by whom; false is without the server's word yet.
func (t *Table) Resources() map[string]map[string]bool { return t.uris }

// Levels are the log levels that sessions asked for.
func (t *Table) Levels() map[string]string { return t.levels }

// Agreed reports whether the server has agreed to tell of a resource.
func (t *Table) Agreed(uri string) bool {
	for _, agreed := range t.uris[uri] {
		if agreed {
			return true
		}
	}
	return false
}

// Awaits reports whether news of a resource is wanted: of itself, or of one above it.
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

// Idle reports whether nothing is wanted of the server but log lines.
func (t *Table) Idle() bool { return len(t.uris)+len(t.wishes)+t.pending() == 0 }

// pending is what the server was, or is going to be, asked and has not answered.
func (t *Table) pending() int { return len(t.queue) + t.out }

// verbose is the lowest level that any session asked for, empty when none did.
func (t *Table) verbose() (least string) {
	for _, l := range t.levels {
		if least == "" || protocol.AtLeast(least, l) {
			least = l
		}
	}
	return least
}
