package drops

import (
	"cmp"
	"time"

	"mcpd/internal/order"
	"mcpd/telemetry"
)

// Every is how far apart an actor tells of what it drops of one server for one reason. A peer can have a notification dropped with each line it
// sends, a hundred thousand in some seconds; told once a second each is one line of a log, and a metric is a second late at most.
const Every = time.Second

// Tally sums what is dropped: the first of a kind is told at once, and what follows at most once in Every, as one event that counts it all and
// otherwise says what the last of it was. The zero Tally has none.
type Tally struct{ sums map[kind]*sum }

// kind is what is summed: a server that is configured, and a reason of the program's own. The method is not in it, since a server can make up as
// many as it likes.
type kind struct{ server, reason string }

func (k kind) compare(other kind) int {
	return cmp.Or(cmp.Compare(k.server, other.server), cmp.Compare(k.reason, other.reason))
}

// sum is of one kind.
type sum struct {
	told  time.Time // when it was told last
	event telemetry.NotificationDropped
}

// take is the event for all that was not told. None of it is left.
func (s *sum) take(now time.Time) telemetry.NotificationDropped {
	e := s.event
	s.told, s.event = now, telemetry.NotificationDropped{}
	return e
}

func (s *sum) waits() bool { return s.event.Count > 0 }

func (s *sum) over(now time.Time) bool { return now.Sub(s.told) >= Every }

// Drop counts an event for what it stands for. The event to tell is for that and what was not told before, if now is the time for it.
func (t *Tally) Drop(e telemetry.NotificationDropped, now time.Time) (all telemetry.NotificationDropped, tell bool) {
	k := kind{e.Server, e.Reason}
	s := t.sums[k]
	if s == nil {
		t.forget(now)
		if t.sums == nil {
			t.sums = map[kind]*sum{}
		}
		s = &sum{told: now.Add(-Every)}
		t.sums[k] = s
	}
	e.Count += s.event.Count
	s.event = e
	if !s.over(now) {
		return telemetry.NotificationDropped{}, false
	}
	return s.take(now), true
}

// forget lets go of kinds of which there was none for a while.
func (t *Tally) forget(now time.Time) {
	for k, s := range t.sums {
		if !s.waits() && s.over(now) {
			delete(t.sums, k)
		}
	}
}

// Due are the events to tell now, because they have waited long enough.
func (t *Tally) Due(now time.Time) (due []telemetry.NotificationDropped) {
	for _, s := range order.By(t.sums, kind.compare) {
		if s.waits() && s.over(now) {
			due = append(due, s.take(now))
		}
	}
	return due
}

// Next is how long it is until some are due; false when none wait.
func (t *Tally) Next(now time.Time) (wait time.Duration, any bool) {
	for _, s := range t.sums {
		if left := s.told.Add(Every).Sub(now); s.waits() && (!any || left < wait) {
			wait, any = left, true
		}
	}
	return max(wait, 0), any
}

// Rest is all that was not told, for who ends now.
func (t *Tally) Rest() (rest []telemetry.NotificationDropped) {
	for _, s := range order.By(t.sums, kind.compare) {
		if s.waits() {
			rest = append(rest, s.event)
		}
	}
	t.sums = nil
	return rest
}
