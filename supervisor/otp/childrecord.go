package otp

import (
	"time"
)

// stage is the state of a child, as its supervisor knows it.
type stage uint8

const (
	idle   stage = iota // nothing runs, on purpose
	going               // it is being started
	up                  // it is ready
	away                // it was told to end
	paused              // it ended by itself and is started again after a pause
	dead                // it ended by itself and waits for a decision, or for another try
)

func (s stage) String() string { return name(s, "idle", "going", "up", "away", "paused", "dead") }

// childRecord is a supervisor's record of one child. The driver fields are for the code that
// performs actions; the others are for the code that decides.
type childRecord struct {
	id    string
	child *Child

	driver struct {
		row     *row
		guard   *guard // its process, nil if it has none
		alarm   ClockTimer
		ended   time.Time // when the last incarnation ended
		reason  error     // why it ended; kept until the next incarnation is ready
		inPlace bool      // the incarnation being started is in the old process
	}

	stage       stage
	parked      bool      // its process waits in place for the next incarnation
	leaving     bool      // its process was told to end, not only its incarnation
	restarted   bool      // the start under way is a restart
	isNew       bool      // the start under way is one of StartChild: a failure deletes the row
	lost        bool      // it last ended by itself because it was stuck
	retryQueued bool      // a restart has failed, another try is queued
	deleted     bool      // the row is gone
	blame       blame     // what its last end tells about its carried state
	crashes     int       // ends in a row that count against its carried state
	origin      string    // origin of the message it crashed on last, "" for none
	ownFault    bool      // it crashed although it took no message of that origin
	failures    *failures // only if its supervisor has a Backoff
	timer       uint32    // number of the latest timer; older ones that fire are ignored
	starter     any       // the request that waits for the start under way
	reason      error     // of its last end by itself, or of its last failed restart
	enders      []any     // the requests that wait for its end

	prev, next *childRecord // in start order
}

// inPlace reports whether the child's process survives the end of its incarnation. A supervisor is
// built anew, and a temporary child has no next incarnation.
func (k *childRecord) inPlace() bool {
	return k.child.Start.Type() == WorkerType && k.child.Restart != Temporary
}

// roster holds the children of a supervisor in start order, and by id.
type roster struct {
	byID        map[string]*childRecord
	first, last *childRecord
	significant int // significant children that are not idle
}

func newRoster(n int) roster { return roster{byID: make(map[string]*childRecord, n)} }

func (r *roster) add(k *childRecord) {
	r.byID[k.id] = k
	if k.prev = r.last; k.prev == nil {
		r.first = k
	} else {
		k.prev.next = k
	}
	r.last = k
}

func (r *roster) remove(k *childRecord) {
	k.deleted = true
	if delete(r.byID, k.id); len(r.byID) == 0 {
		r.byID = map[string]*childRecord{} // a map that was large keeps its memory
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

// move changes a child's stage and keeps the count of significant children.
func (r *roster) move(k *childRecord, to stage) {
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
