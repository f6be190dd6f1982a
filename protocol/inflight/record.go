package inflight

import (
	"cmp"
	"iter"
	"time"

	"mcpd/protocol"
)

// Finished is one line of the history.
type Finished[K cmp.Ordered] struct {
	Key     K
	Method  string
	Started time.Time
	Ended   time.Time
	Outcome Outcome
}

// Metrics sums up the finished requests of one method (S4-55).
type Metrics struct {
	Finished uint64
	Outcomes [Lost + 1]uint64 // by Outcome
	Total    time.Duration    // of all of them together
	Longest  time.Duration
}

// other is where the methods beyond protocol.MaxMethodMetrics are summed up: their names come from the peer.
const other = "_other"

// record remembers what is over: each request for a while (S4-133), and sums for good.
type record[K cmp.Ordered] struct {
	limit   int
	ttl     time.Duration
	lines   []Finished[K] // oldest first; those before first are forgotten
	first   int
	metrics map[string]*Metrics
	drops   [Duplicate + 1]uint64
}

func (r *record[K]) add(now time.Time, key K, method string, started time.Time, how Outcome) {
	if len(r.lines)-r.first >= r.limit {
		r.first++
	}
	r.forget(now)
	r.lines = append(r.lines, Finished[K]{key, method, started, now, how})
	m := r.of(method)
	m.Finished++
	m.Outcomes[how]++
	m.Total += now.Sub(started)
	m.Longest = max(m.Longest, now.Sub(started))
}

// forget drops the lines that are older than the TTL. Half of the slice forgotten is reason to move the rest down, so each line moves
// once on average.
func (r *record[K]) forget(now time.Time) {
	for r.first < len(r.lines) && now.Sub(r.lines[r.first].Ended) > r.ttl {
		r.first++
	}
	if r.first > len(r.lines)/2 {
		n := copy(r.lines, r.lines[r.first:])
		clear(r.lines[n:])
		r.lines, r.first = r.lines[:n], 0
	}
}

func (r *record[K]) of(method string) *Metrics {
	m, ok := r.metrics[method]
	if !ok && len(r.metrics) >= protocol.MaxMethodMetrics {
		method = other
		m, ok = r.metrics[method]
	}
	if !ok {
		m = new(Metrics)
		r.metrics[method] = m
	}
	return m
}

// why tells an answer that comes too late, or twice, from one to a question that nobody asked.
func (r *record[K]) why(now time.Time, key K) Why {
	r.forget(now)
	for i := len(r.lines) - 1; i >= r.first; i-- {
		if line := r.lines[i]; line.Key == key {
			if line.Outcome == Succeeded || line.Outcome == Failed {
				return Duplicate
			}
			return Late
		}
	}
	return Unknown
}

// History goes through the requests that are over, the latest first, as far as they are remembered.
func (t *Table[K, O]) History(now time.Time) iter.Seq[Finished[K]] {
	return func(yield func(Finished[K]) bool) {
		t.record.forget(now)
		for i := len(t.record.lines) - 1; i >= t.record.first; i-- {
			if !yield(t.record.lines[i]) {
				return
			}
		}
	}
}

// Metrics is a copy of the sums by method. Methods beyond the first 64 are under "_other".
func (t *Table[K, O]) Metrics() map[string]Metrics {
	sums := make(map[string]Metrics, len(t.record.metrics))
	for method, m := range t.record.metrics {
		sums[method] = *m
	}
	return sums
}

// Dropped is how many answers were dropped for that reason.
func (t *Table[K, O]) Dropped(why Why) uint64 { return t.record.drops[why] }
