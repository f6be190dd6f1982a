package otp

import (
	"time"

	"mcpd/internal/clock"
)

// stage is where a child is, as its supervisor knows it.
type stage uint8

const (
	idle   stage = iota // nothing runs, by decision
	going               // its start is under way
	up                  // it is ready
	away                // it was told to end
	paused              // it ended by itself and is started again when its pause is over
	dead                // it ended by itself and waits for the decision, or for another try
)

func (s stage) String() string { return name(s, "idle", "going", "up", "away", "paused", "dead") }

// kid is a supervisor's record of one child: what is decided about it, and beside it what the driver keeps.
type kid struct {
	id    string
	child *Child

	driver struct {
		row     *row
		guard   *guard // its process, nil when there is none
		alarm   clock.Timer
		ended   time.Time // when the last incarnation ended
		reason  error     // why it did; kept until the next one is ready
		inPlace bool      // the start under way is in the old process
	}

	stage     stage
	parked    bool      // its process waits in place for the next incarnation
	leaving   bool      // its process was told to leave, not only its incarnation to end
	restarted bool      // the start under way is a restart
	fresh     bool      // the start under way is that of start_child: a failure discards the row
	lost      bool      // its last end by itself was that it hung
	again     bool      // a restart has failed, another try is queued
	deleted   bool      // the row is gone
	blame     blame     // what its last end says about its heir
	crashes   int       // ends in a row that speak against it
	origin    string    // whose message it crashed on last, "" for nobody's
	held      bool      // although it took no message of that origin
	failures  *failures // where its supervisor has a Backoff
	timer     uint32    // number of the timer set last; an older one that fires is ignored
	starter   any       // the request that waits for the start under way
	reason    error     // of its last end by itself, or of its last failed restart
	enders    []any     // the requests that wait for its end

	prev, next *kid // in start order
}

// inPlace reports whether the child's process survives the end of its incarnation. Supervisors are built anew, and a
// temporary child has no next incarnation.
func (k *kid) inPlace() bool {
	return k.child.Start.Type() == WorkerType && k.child.Restart != Temporary
}

// roster is a supervisor's children in start order, and by id.
type roster struct {
	byID        map[string]*kid
	first, last *kid
	significant int // significant children that are not idle
}

func newRoster(n int) roster { return roster{byID: make(map[string]*kid, n)} }

func (r *roster) add(k *kid) {
	r.byID[k.id] = k
	if k.prev = r.last; k.prev == nil {
		r.first = k
	} else {
		k.prev.next = k
	}
	r.last = k
}

func (r *roster) remove(k *kid) {
	k.deleted = true
	if delete(r.byID, k.id); len(r.byID) == 0 {
		r.byID = map[string]*kid{} // one that was large keeps its room
	}
	if k.prev == nil {
		r.first = k.next
	} else {
		k.prev.next = k.next
	}
	if k.next == nil {
		r.last = k.prev
	} else {
		k.next.prev = k.prev
	}
}

// move changes a child's stage, and keeps the count of significant ones.
func (r *roster) move(k *kid, to stage) {
	if k.child.Significant {
		switch {
		case k.stage == idle && to != idle:
			r.significant++
		case k.stage != idle && to == idle:
			r.significant--
		}
	}
	k.stage = to
}
