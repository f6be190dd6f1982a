package telemetry

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/internal/water"
)

// QueueLen is how many events may wait to be written. A crash of a tenant with
// a thousand sessions makes some thousand events at once; at a few hundred bytes
// each the queue stays below two megabytes.
const QueueLen = 4096

// Options configure a Recorder. Every field may be left out.
type Options struct {
	Logger  *slog.Logger // where lines go; nil writes none
	Clock   clock.Clock  // nil is clock.System
	Metrics *Metrics     // what counts events; nil counts none
	// Faults may make lines wait; nil is none.
	Faults *fault.Registry
}

// Recorder takes events and, in its own time, writes them to the log and keeps
// the last of them. Emitting never waits for it.
type Recorder struct {
	logger  *slog.Logger
	clock   clock.Clock
	metrics *Metrics
	faults  *fault.Registry
	queue   chan Record
	most    water.Mark
	dropped atomic.Uint32
	recent  *Recent
	wake    chan struct{} // holds a token when samples may be due

	writing atomic.Int64 // since when a line is being written, in ns of Unix time; 0 for none is

	order     sync.Mutex // guards what follows, never while something is written
	incidents incidents

	mu       sync.Mutex // guards what follows: one event is written at a time
	budgets  []budget
	samples  samples
	sweep    clock.Timer // when they are looked at next; nil while there are none
	reported uint32      // of dropped
}

// NewRecorder returns a recorder. It takes events at once and writes them when
// Serve or Flush runs.
func NewRecorder(o Options) *Recorder {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	return &Recorder{
		logger:    o.Logger,
		clock:     o.Clock,
		metrics:   o.Metrics,
		faults:    o.Faults,
		queue:     make(chan Record, QueueLen),
		recent:    newRecent(),
		wake:      make(chan struct{}, 1),
		incidents: make(incidents),
		budgets:   make([]budget, len(events)),
	}
}

// Emit counts an event, remembers it and hands it to the log. It is a Sink: it
// never blocks, and an event that finds the queue full is missing in the log only.
func (r *Recorder) Emit(e Event) {
	r.count(e)
	select {
	case r.queue <- r.remember(e, r.clock.Now()):
		r.most.Note(len(r.queue))
	default:
		r.dropped.Add(1)
		r.count(EventsDropped{Count: 1})
	}
}

func (r *Recorder) count(e Event) {
	if r.metrics != nil {
		r.metrics.count(e)
	}
}

// remember makes the record of an event. Whoever writes it may be stuck: who
// reads what happened last hears of it all the same.
func (r *Recorder) remember(e Event, at time.Time) Record {
	kind := byType[reflect.TypeOf(e)]
	r.order.Lock()
	defer r.order.Unlock()
	rec := Record{At: at, Event: e, Incident: r.incident(e, events[kind].opens, at), kind: kind}
	r.recent.add(rec)
	return rec
}

// Serve writes events until ctx ends, and then what has arrived by that time. It
// is the loop that the observability tier runs; all state is the recorder's, so
// that a new loop goes on where a crashed one stopped, one event later.
func (r *Recorder) Serve(ctx context.Context) error {
	for {
		select {
		case s := <-r.queue:
			r.write(s)
		case <-r.wake:
			r.tellSamples()
		case <-ctx.Done():
			r.Flush()
			return ctx.Err()
		}
	}
}

// Close writes the events that wait now, and counts those that had no line, for
// as long as ctx lasts. A process calls it last, when no loop runs any more; whoever reads the
// log may have stopped reading it, and that keeps no process from its end.
func (r *Recorder) Close(ctx context.Context) {
	written := make(chan struct{})
	go func() { // ends with the log's last line, or with the process
		defer close(written)
		r.Flush()
		r.rest()
	}()
	select {
	case <-written:
	case <-ctx.Done():
	}
}

// Flush writes the events that wait now, however long that takes.
func (r *Recorder) Flush() {
	for range len(r.queue) {
		select {
		case s := <-r.queue:
			r.write(s)
		default:
			return
		}
	}
}

// Dropped is how many events found the queue full.
func (r *Recorder) Dropped() uint32 { return r.dropped.Load() }

// Most is how many events ever waited, of QueueLen.
func (r *Recorder) Most() int { return r.most.Most() }

// StuckAfter is how long one line may take until the log counts as stuck.
const StuckAfter = time.Second

// Stuck reports whether the log takes no line: whoever reads it has stopped.
func (r *Recorder) Stuck() bool {
	since := r.writing.Load()
	return since != 0 && clock.Steady(r.clock.Now())-since >= int64(StuckAfter)
}

// Recent is the memory of the last events.
func (r *Recorder) Recent() *Recent { return r.recent }

func (r *Recorder) write(rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost(rec.At)
	write, before := r.samples.take(&rec)
	for _, one := range r.samples.due(rec.At) {
		r.line(one.last, one.more-1)
	}
	if write {
		r.line(rec, before)
	}
	r.sweepLater()
}

// tellSamples writes the samples that are due, where no other line has brought them.
func (r *Recorder) tellSamples() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep = nil
	for _, one := range r.samples.due(r.clock.Now()) {
		r.line(one.last, one.more-1)
	}
	r.sweepLater()
}

// sweepLater has samples looked at in a while, if there are any. The mutex is held.
func (r *Recorder) sweepLater() {
	if len(r.samples.all) == 0 || r.sweep != nil {
		return
	}
	r.sweep = r.clock.AfterFunc(SampleEvery, func() {
		select {
		case r.wake <- struct{}{}:
		default: // it has one
		}
	})
}

// lost writes how many events found the queue full since it was last told. The mutex is held.
func (r *Recorder) lost(at time.Time) {
	if n := r.dropped.Load(); n != r.reported {
		lost := EventsDropped{Count: n - r.reported}
		r.reported = n
		r.line(r.remember(lost, at), 0)
	}
}

// line writes a record, before which so many of its kind were left out.
func (r *Recorder) line(rec Record, before int) {
	kind := rec.kind
	level := rec.level()
	if !r.logger.Enabled(context.Background(), level) {
		return
	}
	if allowed, suppressed := r.budgets[kind].take(rec, events[kind].lines, before); allowed {
		r.put(rec, suppressed)
	}
}

// put writes a record as a line that counts those which have none.
func (r *Recorder) put(rec Record, suppressed int) {
	line := slog.NewRecord(rec.At, rec.level(), events[rec.kind].message, 0) // the time it happened, not that of writing
	line.AddAttrs(rec.line(suppressed)...)
	r.writing.Store(clock.Steady(r.clock.Now()))
	defer r.writing.Store(0)
	r.faults.At(context.Background(), fault.LogWrite, fault.Who{})
	// A log that cannot be written has nowhere to say so; the next line may get through.
	_ = r.logger.Handler().Handle(context.Background(), line)
}

// rest writes the last of those that have no line, of each cause and of each kind, with how many
// there are: no later line counts them.
func (r *Recorder) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost(r.clock.Now())
	if r.sweep != nil {
		r.sweep.Stop()
	}
	for _, one := range r.samples.rest() {
		r.line(one.last, one.more-1)
	}
	for i := range r.budgets {
		if b := &r.budgets[i]; b.suppressed > 0 {
			r.put(b.last, b.suppressed-1)
			*b = budget{}
		}
	}
}

// incident is what an event belongs to: what it says itself, or what its row is in.
func (r *Recorder) incident(e Event, opens bool, at time.Time) string {
	w := e.where()
	if w.Incident != "" {
		return r.incidents.named(w.Path, w.Incident, at)
	}
	return r.incidents.of(w.Path, opens, at)
}

// budget counts the lines of one kind of event in the current second.
type budget struct {
	second     int64
	written    int
	suppressed int
	last       Record // of those
}

// take reports whether a line may be written for a record, and how many were not since
// the last one, with those before the record that have none.
func (b *budget) take(rec Record, limit, before int) (allowed bool, suppressed int) {
	if s := rec.At.Unix(); s != b.second {
		b.second, b.written = s, 0
	}
	if b.written >= limit {
		b.suppressed += before + 1
		b.last = rec
		return false, 0
	}
	b.written++
	suppressed = b.suppressed + before
	b.suppressed, b.last = 0, Record{}
	return true, suppressed
}
