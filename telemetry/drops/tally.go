// Package drops sums the events of dropped messages, so that few events are emitted however many
// messages are dropped. It does not know why a message is dropped.
package drops

import (
	"cmp"
	"time"

	"mcpd/internal/sortedmap"
	"mcpd/telemetry"
)

// Every is the least time between two events about drops of one server for one reason. A peer can
// cause a dropped notification with each line that it sends, a hundred thousand in some seconds.
// With one event a second the log gets one line a second, and a metric is at most a second late.
const Every = time.Second

// Dropped are the events that are summed.
type Dropped interface {
	telemetry.NotificationDropped | telemetry.ReplyDropped
}

// Tally sums dropped messages. The first drop of a kind is reported at once. Later drops are
// reported at most once in Every, as one event with their count and otherwise the data of the
// last one. The zero Tally is empty.
type Tally struct{ sums map[kind]*sum }

// kind is the key of a sum: notifications or replies, the configured tenant and server, and a
// reason from a fixed set. The method is not part of it, because a server can make up any number
// of methods.
type kind struct {
	replies                bool
	tenant, server, reason string
}

func (k kind) compare(other kind) int {
	switch {
	case k.replies == other.replies:
		return cmp.Or(cmp.Compare(k.tenant, other.tenant), cmp.Compare(k.server, other.server),
			cmp.Compare(k.reason, other.reason))
	case k.replies:
		return 1
	}
	return -1
}

// sum is the sum of one kind.
type sum struct {
	reported time.Time // when it was last reported
	last     telemetry.Event
	count    uint32 // drops that are not reported yet
}

// take returns the event for all unreported drops and resets the sum.
func (s *sum) take(now time.Time) telemetry.Event {
	e := s.event()
	s.reported, s.last, s.count = now, nil, 0
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
	return nil // there is no other type
}

func (s *sum) waits() bool { return s.count > 0 }

func (s *sum) over(now time.Time) bool { return now.Sub(s.reported) >= Every }

// Drop counts e for as many drops as e.Count says. If an event is due, tell is true and all
// covers this drop and all unreported ones.
func Drop[E Dropped](t *Tally, e E, now time.Time) (all telemetry.Event, tell bool) {
	switch e := any(e).(type) {
	case telemetry.NotificationDropped:
		return t.drop(kind{tenant: e.Tenant, server: e.Server, reason: e.Reason}, e, e.Count, now)
	case telemetry.ReplyDropped:
		return t.drop(kind{replies: true, tenant: e.Tenant, server: e.Server, reason: e.Reason}, e,
			e.Count, now)
	}
	return nil, false
}

func (t *Tally) drop(k kind, e telemetry.Event, count uint32, now time.Time) (all telemetry.Event,
	tell bool) {
	s := t.sums[k]
	if s == nil {
		t.forget(now)
		if t.sums == nil {
			t.sums = map[kind]*sum{}
		}
		s = &sum{reported: now.Add(-Every)}
		t.sums[k] = s
	}
	s.last, s.count = e, s.count+count
	if !s.over(now) {
		return nil, false
	}
	return s.take(now), true
}

// forget removes kinds of which nothing was dropped for a while.
func (t *Tally) forget(now time.Time) {
	for k, s := range t.sums {
		if !s.waits() && s.over(now) {
			delete(t.sums, k)
		}
	}
}

// Due returns the events that have waited long enough and are to be emitted now.
func (t *Tally) Due(now time.Time) (due []telemetry.Event) {
	for _, s := range sortedmap.SortedBy(t.sums, kind.compare) {
		if s.waits() && s.over(now) {
			due = append(due, s.take(now))
		}
	}
	return due
}

// Next returns how long it takes until an event is due; any is false if none waits.
func (t *Tally) Next(now time.Time) (wait time.Duration, any bool) {
	for _, s := range t.sums {
		if remaining := s.reported.Add(Every).Sub(now); s.waits() && (!any || remaining < wait) {
			wait, any = remaining, true
		}
	}
	return max(wait, 0), any
}

// Rest returns the events for all unreported drops. It is for a caller that ends.
func (t *Tally) Rest() (rest []telemetry.Event) {
	for _, s := range sortedmap.SortedBy(t.sums, kind.compare) {
		if s.waits() {
			rest = append(rest, s.event())
		}
	}
	t.sums = nil
	return rest
}
