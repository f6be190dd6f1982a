// Package drops sums the events of what is dropped, so that few are told however many there are. It does not know why something is dropped.
package drops

import (
	"cmp"
	"time"

	"mcpd/internal/order"
	"mcpd/telemetry"
)

// Every is how far apart it is told of what is dropped of one server for one reason. A peer can have a notification dropped with each line it
// sends, a hundred thousand in some seconds; told once a second each is one line of a log, and a metric is a second late at most.
const Every = time.Second

// Dropped are the events that are summed.
type Dropped interface {
	telemetry.NotificationDropped | telemetry.ReplyDropped
}

// Tally sums what is dropped: the first of a kind is told at once, and what follows at most once in Every, as one event that counts it all and
// otherwise says what the last of it was. The zero Tally has none.
type Tally struct{ sums map[kind]*sum }

// kind is what is summed: notifications or replies, of a tenant and a server that are configured, for a reason of the program's own. The method is
// not in it, since a server can make up as many as it likes.
type kind struct {
	replies                bool
	tenant, server, reason string
}

func (k kind) compare(other kind) int {
	switch {
	case k.replies == other.replies:
		return cmp.Or(cmp.Compare(k.tenant, other.tenant), cmp.Compare(k.server, other.server), cmp.Compare(k.reason, other.reason))
	case k.replies:
		return 1
	}
	return -1
}

// sum is of one kind.
type sum struct {
	told  time.Time // when it was told last
	last  telemetry.Event
	count uint32 // that were not told
}

// take is the event for all that was not told. None of it is left.
func (s *sum) take(now time.Time) telemetry.Event {
	e := s.event()
	s.told, s.last, s.count = now, nil, 0
	return e
}

func (s *sum) event() telemetry.Event {
	switch e := s.last.(type) {
	case telemetry.NotificationDropped:
		e.Count = s.count
		return e
	case telemetry.ReplyDropped:
		e.Count = s.count
		return e
	}
	return nil // there is none of another type
}

func (s *sum) waits() bool { return s.count > 0 }

func (s *sum) over(now time.Time) bool { return now.Sub(s.told) >= Every }

// Drop counts an event for what it stands for. The event to tell is for that and what was not told before, if now is the time for it.
func Drop[E Dropped](t *Tally, e E, now time.Time) (all telemetry.Event, tell bool) {
	switch e := any(e).(type) {
	case telemetry.NotificationDropped:
		return t.drop(kind{tenant: e.Tenant, server: e.Server, reason: e.Reason}, e, e.Count, now)
	case telemetry.ReplyDropped:
		return t.drop(kind{replies: true, tenant: e.Tenant, server: e.Server, reason: e.Reason}, e, e.Count, now)
	}
	return nil, false
}

func (t *Tally) drop(k kind, e telemetry.Event, count uint32, now time.Time) (all telemetry.Event, tell bool) {
	s := t.sums[k]
	if s == nil {
		t.forget(now)
		if t.sums == nil {
			t.sums = map[kind]*sum{}
		}
		s = &sum{told: now.Add(-Every)}
		t.sums[k] = s
	}
	s.last, s.count = e, s.count+count
	if !s.over(now) {
		return nil, false
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
func (t *Tally) Due(now time.Time) (due []telemetry.Event) {
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
func (t *Tally) Rest() (rest []telemetry.Event) {
	for _, s := range order.By(t.sums, kind.compare) {
		if s.waits() {
			rest = append(rest, s.event())
		}
	}
	t.sums = nil
	return rest
}
