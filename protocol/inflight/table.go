package inflight

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"mcpd/protocol"
)

// Options of a table. Zero fields take the bounds of package protocol.
type Options struct {
	Pending int           // how many requests may be in flight
	History int           // how many finished ones are remembered
	TTL     time.Duration // for how long
}

// Table is the requests in flight. It is made by New. Its methods are for one goroutine at a time.
type Table[K cmp.Ordered, O any] struct {
	limit   int
	entries map[K]*entry[K, O]
	timers  heap[K, O]
	armed   time.Time // what the timer was last set to; zero when it is not set
	spare   []*entry[K, O]
	effects []Effect[K, O]
	record  record[K]
}

// entry is a request with what only the table needs.
type entry[K cmp.Ordered, O any] struct {
	Request[K, O]
	timeout time.Duration
	end     time.Time // no deadline is later, save while parked
	parks   int
	parked  time.Time // since when
	index   int       // in timers
}

// New is an empty table.
func New[K cmp.Ordered, O any](o Options) *Table[K, O] {
	if o.Pending == 0 {
		o.Pending = protocol.MaxPending
	}
	if o.History == 0 {
		o.History = protocol.MaxHistory
	}
	if o.TTL == 0 {
		o.TTL = protocol.HistoryTTL
	}
	return &Table[K, O]{
		limit:   o.Pending,
		entries: make(map[K]*entry[K, O]),
		record:  record[K]{limit: o.History, ttl: o.TTL, metrics: make(map[string]*Metrics)},
	}
}

// SetPending bounds the requests in flight anew. Those that there are stay.
func (t *Table[K, O]) SetPending(limit int) { t.limit = limit }

// Len is how many requests are in flight.
func (t *Table[K, O]) Len() int { return len(t.entries) }

// Get finds a request in flight.
func (t *Table[K, O]) Get(key K) (Request[K, O], bool) {
	if e, ok := t.entries[key]; ok {
		return e.Request, true
	}
	return Request[K, O]{}, false
}

// Pending goes through the requests in flight, in no order (S4-62). The table must not be stepped meanwhile.
func (t *Table[K, O]) Pending() iter.Seq[Request[K, O]] {
	return func(yield func(Request[K, O]) bool) {
		for _, e := range t.entries {
			if !yield(e.Request) {
				return
			}
		}
	}
}

// Step takes an event and returns what to do, in order. The effects are valid until the next call. An owner that says Done of each, or sets it
// to zero, gets those that it had not done from Repair, should it crash.
func (t *Table[K, O]) Step(now time.Time, in Event[K, O]) []Effect[K, O] {
	clear(t.effects) // keep no owner alive
	t.effects = t.effects[:0]
	switch in.Op {
	case Register:
		t.register(now, in)
	case Expire:
		t.expire(now)
	default:
		e, ok := t.entries[in.Key]
		if !ok {
			t.drop(now, in)
			break
		}
		t.change(now, e, in)
	}
	t.arm()
	return t.effects
}

// Done says of the effect at this place of the last step's, or of the last repair's, that it is done.
func (t *Table[K, O]) Done(i int) { t.effects[i] = Effect[K, O]{} }

func (t *Table[K, O]) do(e Effect[K, O]) { t.effects = append(t.effects, e) }

// register takes a request on, unless its key is taken or the table is full (S4-57, S4-59).
func (t *Table[K, O]) register(now time.Time, in Event[K, O]) {
	r := Request[K, O]{Key: in.Key, Method: in.Method, Owner: in.Owner, Started: now}
	if _, taken := t.entries[in.Key]; taken {
		t.do(Effect[K, O]{Do: Reject, Request: r, Err: &protocol.Error{
			Condition: protocol.ConditionRequestIDConflict,
			Message:   fmt.Sprintf("request %v is in flight already", in.Key),
		}})
		return
	}
	if len(t.entries) >= t.limit {
		t.do(Effect[K, O]{Do: Reject, Request: r, Err: protocol.Overloaded("request manager", time.Second)})
		return
	}
	e := t.fresh()
	e.Request = r
	e.timeout = in.Timeout
	if e.timeout == 0 {
		e.timeout = protocol.RequestTimeout
	}
	if !in.Arrived.IsZero() {
		e.Started = in.Arrived
	}
	e.end = e.Started.Add(max(in.Max, e.timeout))
	e.Deadline = e.Started.Add(e.timeout)
	t.entries[in.Key] = e
	t.timers.push(e)
	t.do(Effect[K, O]{Do: Send, Request: e.Request})
}

// change applies an event to a request in flight.
func (t *Table[K, O]) change(now time.Time, e *entry[K, O], in Event[K, O]) {
	switch in.Op {
	case Forward:
		e.Forwarded = true
	case Complete:
		t.finish(now, e, in.Outcome, in.Err)
	case Cancel:
		t.withdraw(e)
		t.finish(now, e, Cancelled, in.Err)
	case Lose:
		t.finish(now, e, Lost, in.Err)
	case Progress:
		e.Progress++
		if e.parks == 0 {
			t.postpone(e, earlier(now.Add(e.timeout), e.end))
		}
	case Park:
		e.park(now)
		t.postpone(e, now.Add(in.Timeout))
	case Unpark:
		if e.unpark(now) {
			t.postpone(e, earlier(now.Add(e.timeout), e.end))
		}
	}
}

// park counts: a request may ask its user several things at once.
func (e *entry[K, O]) park(now time.Time) {
	if e.parks == 0 {
		e.parked = now
	}
	e.parks++
	e.Parked = true
}

// unpark reports that the request runs again. The time its user took does not count against it.
func (e *entry[K, O]) unpark(now time.Time) bool {
	if e.parks == 0 {
		return false
	}
	e.parks--
	if e.parks > 0 {
		return false
	}
	e.Parked = false
	e.end = e.end.Add(now.Sub(e.parked))
	return true
}

// expire ends everything that is due.
func (t *Table[K, O]) expire(now time.Time) {
	t.armed = time.Time{}
	for len(t.timers) > 0 && !t.timers[0].Deadline.After(now) {
		e := t.timers[0]
		t.withdraw(e)
		t.finish(now, e, TimedOut, protocol.Timeout(now.Sub(e.Started).Round(time.Millisecond)))
	}
	t.record.forget(now)
}

// withdraw tells the other side, if it knows of the request.
func (t *Table[K, O]) withdraw(e *entry[K, O]) {
	if e.Forwarded {
		t.do(Effect[K, O]{Do: Withdraw, Request: e.Request})
	}
}

// finish is the only way out of the table: the outcome and the removal are one step, so that there is exactly one outcome.
func (t *Table[K, O]) finish(now time.Time, e *entry[K, O], how Outcome, err error) {
	t.do(Effect[K, O]{Do: Finish, Request: e.Request, Outcome: how, Err: err})
	t.record.add(now, e.Key, e.Method, e.Started, how)
	delete(t.entries, e.Key)
	t.timers.remove(e.index)
	*e = entry[K, O]{}
	t.spare = append(t.spare, e)
}

func (t *Table[K, O]) fresh() *entry[K, O] {
	if n := len(t.spare); n > 0 {
		e := t.spare[n-1]
		t.spare = t.spare[:n-1]
		return e
	}
	return new(entry[K, O])
}

// drop counts an event about a request that is not in flight. Only answers are worth an effect: a cancel that crosses its answer is
// normal, and so is progress (2025-11-25 §basic/utilities).
func (t *Table[K, O]) drop(now time.Time, in Event[K, O]) {
	why := t.record.why(now, in.Key)
	if in.Op == Complete {
		t.record.drops[why]++
	}
	t.do(Effect[K, O]{Do: Drop, Request: Request[K, O]{Key: in.Key}, Why: why})
}

func (t *Table[K, O]) postpone(e *entry[K, O], to time.Time) {
	e.Deadline = to
	t.timers.fix(e.index)
}

// arm asks for the timer when it is not set or set too late. One that is set too early is left: it fires, finds nothing due, and is set
// anew, which is cheaper than to move it with every answer.
func (t *Table[K, O]) arm() {
	if len(t.timers) == 0 {
		return
	}
	if at := t.timers[0].Deadline; t.armed.IsZero() || at.Before(t.armed) {
		t.armed = at
		t.do(Effect[K, O]{Do: Arm, At: at})
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
