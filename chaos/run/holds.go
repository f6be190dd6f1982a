package run

import (
	"context"
	"maps"
	"slices"
	"time"

	"mcpd/chaos/faults"
	"mcpd/chaos/record"
)

// reads is how often the host is measured; the median is used. A measurement itself needs
// goroutines and a connection, and their number varies by one now and then.
const reads = 15

// measurement is everything that a host holds at one time.
type measurement struct {
	values map[string]float64
	named  map[string]float64 // the part of values that has a name and a bound of its own
	counts counts             // of families
	hung   float64            // number of actors that do not return
	tree   faults.Tree
	starts map[string]int // goroutines by the function with which they began
}

// measured reports whether the measurement is complete. A host that does not answer has none.
func (h measurement) measured() bool { return len(h.tree) > 0 }

// hold is one holding that is measured by a metric.
type hold struct {
	name, metric string
	named        []string // metrics of the parts that have a name and a bound
	exact        bool     // growth of the unnamed part is a leak
}

var held = []hold{
	{goroutines, "go_goroutines", []string{hung, "mcpd_actor_idle_runners"}, true},
	{"descriptors", "process_open_fds", []string{"mcpd_upstream_idle_connections"}, true},
	{"sessions", "mcpd_sessions", nil, true},
	{record.LegacySessions, `mcpd_sessions{era="legacy"}`, nil, false},
	{"streams", "mcpd_streams", nil, true},
	{"subscriptions", "mcpd_subscriptions", nil, true},
	{"in flight", "mcpd_requests_in_flight", nil, true},
	{"faults", "mcpd_chaos_faults_active", nil, true},
	{"starts that wait", "mcpd_spawn_queue", nil, true},
	{residentBytes, "process_resident_memory_bytes", nil, false},
}

// goroutines is the name of the holding of the host's goroutines.
const goroutines = "goroutines"

// residentBytes is the name of the holding whose peak the host bounds.
const residentBytes = "resident bytes"

// hung is the metric of actors that do not return.
const hung = "mcpd_actor_hung"

// Names of holdings without a metric of their own.
const (
	children  = "children"       // processes of rows of the tree
	processes = "processes"      // all descendants of the host's process
	zombies   = "zombies"        // descendants that have ended and were not waited for
	strays    = "strays"         // processes that carry the host's mark but do not descend from it
	started   = "started"        // start time of the host, in seconds since 1970
	hosts     = "hosts"          // number of hosts, one after the other
	reopened  = "sessions again" // sessions that clients had to reopen
)

// measure measures what the host holds while there are no calls.
func (r *run) measure(ctx context.Context) (measurement, error) {
	h := measurement{values: map[string]float64{}, named: map[string]float64{}}
	values, named := map[string][]float64{}, map[string][]float64{}
	var all []counts
	var last scrape
	for range reads {
		s, err := r.operator.scrape(ctx)
		if err != nil {
			return h, err
		}
		for _, row := range held {
			v, n := row.count(s)
			values[row.name], named[row.name] = append(values[row.name], v), append(named[row.name], n)
		}
		all, last = append(all, counted(s)), s
	}
	h.counts = middles(all)
	for _, row := range held {
		h.values[row.name], h.named[row.name] = middle(values[row.name]), middle(named[row.name])
	}
	h.hung, _ = last.sum(hung)
	h.named[liveHeap], _ = last.sum(historyBytes)
	h.values[started], _ = last.sum("process_start_time_seconds")
	var err error
	if h.tree, err = r.operator.Tree(ctx); err != nil {
		return h, err
	}
	r.collect(ctx, h.values)
	h.starts = r.goroutines(ctx)
	for _, row := range h.tree {
		if row.PID > 0 {
			h.values[children]++
		}
	}
	if pid := int(r.pid.Load()); pid > 0 {
		maps.Copy(h.values, below(pid))
	}
	return h, nil
}

// count returns the value of a holding and its named part.
func (row hold) count(s scrape) (value, named float64) {
	value, _ = s.sum(row.metric)
	for _, metric := range row.named {
		n, _ := s.sum(metric)
		named += n
	}
	return value, named
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// measureIdle closes idle connections and repeats look until two looks are equal, or until
// releaseTime has passed.
func (r *run) measureIdle(ctx context.Context) (h measurement, err error) {
	for end := time.Now().Add(releaseTime); ; {
		for _, t := range r.traffic {
			t.rest()
		}
		before := h
		if h, err = r.measure(ctx); err != nil || same(before, h) || time.Now().After(end) {
			return h, err
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return h, err
		}
	}
}

func same(a, b measurement) bool {
	for _, row := range held {
		if row.exact && row.of(a, b).Surplus() != 0 {
			return false
		}
	}
	return len(a.tree) > 0 && maps.Equal(a.counts, b.counts) &&
		a.values[children] == b.values[children]
}

// measureAfter repeats look until the host holds no more than before, or until releaseTime has
// passed.
func (r *run) measureAfter(ctx context.Context, before measurement) (h measurement, err error) {
	for end := time.Now().Add(releaseTime); ; {
		for _, t := range r.traffic {
			t.rest()
		}
		if h, err = r.measure(ctx); err != nil || r.within(h, before) || time.Now().After(end) {
			return h, err
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return h, err
		}
	}
}

// within reports whether the host holds no more than before, and has exactly as many processes.
func (r *run) within(h, before measurement) bool {
	for _, row := range held {
		if row.exact && row.of(before, h).Surplus() > 0 {
			return false
		}
	}
	for _, c := range compared(before.counts, h.counts) {
		if c.Surplus() > 0 {
			return false
		}
	}
	for _, name := range []string{children, processes, zombies, strays} {
		if h.values[name] != before.values[name] {
			return false
		}
	}
	return restarted(before, h) || !r.heap(before, h).Leaked() && h.values[leaked] <= h.hung
}

// of returns the holding in the form of a record.
func (row hold) of(before, after measurement) record.Holding {
	return record.Holding{
		Name: row.name, Exact: row.exact, Before: before.values[row.name], After: after.values[row.name],
		NamedBefore: before.named[row.name], Named: after.named[row.name],
	}
}

// holdings returns all holdings in the form of a record. Peak and its limit come from the
// measurements during the run.
func (r *run) holdings(before, after measurement) []record.Holding {
	var list []record.Holding
	unmeasured := !after.measured()
	for _, row := range held {
		h := row.of(before, after)
		if row.name == goroutines && h.Surplus() > 0 {
			h.More = more(before.starts, after.starts)
		}
		h.Peak, h.Limit, h.Unmeasured = r.peaks.value(row.name), r.limits[row.name], unmeasured
		list = append(list, h)
	}
	for _, h := range compared(before.counts, after.counts) {
		h.Unmeasured = unmeasured
		list = append(list, h)
	}
	for _, name := range []string{children, processes, zombies, strays} {
		if _, ok := before.values[name]; ok {
			list = append(list, record.Holding{
				Name: name, Before: before.values[name], After: after.values[name], Exact: true,
				Unmeasured: unmeasured,
			})
		}
	}
	if _, ok := before.values[liveHeap]; ok && !restarted(before, after) && !unmeasured {
		list = append(list, r.heap(before, after))
	}
	if v, ok := after.values[leaked]; ok {
		list = append(list, record.Holding{Name: leaked, After: v, Named: after.hung, Exact: true})
	}
	one := record.Holding{Name: hosts, Before: 1, After: 1}
	if restarted(before, after) {
		one.After++
	}
	again := record.Holding{Name: reopened}
	for _, t := range r.traffic {
		again.After += float64(t.reopened())
	}
	return append(append(list, one, again), r.peaks.queues()...)
}

// restarted reports whether the host was started again between two looks.
func restarted(before, after measurement) bool {
	return after.measured() && before.values[started] != after.values[started]
}
