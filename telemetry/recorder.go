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
	"mcpd/internal/highwater"
)

// QueueLen bounds the events that wait to be written. A crash of a tenant with a thousand
// sessions causes some thousand events at once. At a few hundred bytes each the queue stays below
// two megabytes.
const QueueLen = 4096

// Options configure a Recorder. Every field is optional.
type Options struct {
	Logger  *slog.Logger // receives the lines; nil writes none
	Clock   clock.Clock  // nil is clock.System
	Metrics *Metrics     // counts events; nil counts none
	// Faults may delay lines; nil is none.
	Faults *fault.Registry
}

// Recorder receives events, writes them to the log later, and keeps the most recent ones.
// Emitting an event never waits for the log.
type Recorder struct {
	logger  *slog.Logger
	clock   clock.Clock
	metrics *Metrics
	faults  *fault.Registry
	queue   chan Record
	most    highwater.Mark
	dropped atomic.Uint32
	recent  *Recent
	wake    chan struct{} // holds a token when samples may be due

	// writing is the start of the write in progress, in ns of Unix time; 0 for none.
	writing atomic.Int64

	// order guards incidents. It is never held while a line is written.
	order     sync.Mutex
	incidents incidents

	mu      sync.Mutex // guards the fields below; one event is written at a time
	budgets []budget
	samples samples
	// sweep fires when samples are looked at next; nil while there are none.
	sweep    clock.Timer
	reported uint32 // the part of dropped that was reported
}

// NewRecorder returns a recorder. It accepts events at once, and writes them when Serve or Flush
// runs.
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

// Emit counts an event, remembers it and queues it for the log. It is a Sink: it never blocks. If
// the queue is full, the event is missing only in the log.
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

// remember makes the record of an event and adds it to the recent events. It runs before the log
// is written, so readers of recent events see the event even when the log is stuck.
func (r *Recorder) remember(e Event, at time.Time) Record {
	kind := byType[reflect.TypeOf(e)]
	r.order.Lock()
	defer r.order.Unlock()
	rec := Record{At: at, Event: e, Incident: r.incident(e, events[kind].opens, at), kind: kind}
	r.recent.add(rec)
	return rec
}

// Serve writes events until ctx ends, and then the events that have arrived by that time. It is
// the loop that the observability tier runs. All state belongs to the recorder, so a new loop
// continues where a crashed one stopped, one event later.
func (r *Recorder) Serve(ctx context.Context) error {
	for {
		select {
		case s := <-r.queue:
			r.write(s)
		case <-r.wake:
			r.writeSamples()
		case <-ctx.Done():
			r.Flush()
			return ctx.Err()
		}
	}
}

// Close writes the waiting events and the counts of events without a line, for as long as ctx
// lasts. A process calls it last, when no loop runs any more. A reader that has stopped reading
// the log does not keep the process from ending.
func (r *Recorder) Close(ctx context.Context) {
	written := make(chan struct{})
	go func() { // ends with the log's last line, or with the process
		defer close(written)
		r.Flush()
		r.writeRest()
	}()
	select {
	case <-written:
	case <-ctx.Done():
	}
}

// Flush writes the waiting events, however long that takes.
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

// Dropped returns how many events found the queue full.
func (r *Recorder) Dropped() uint32 { return r.dropped.Load() }

// HighWater returns the high-water mark of the queue, which is at most QueueLen.
func (r *Recorder) HighWater() int { return r.most.Most() }

// StuckAfter is how long one line may take until the log counts as stuck.
const StuckAfter = time.Second

// Stuck reports whether the log accepts no line, because its reader has stopped.
func (r *Recorder) Stuck() bool {
	since := r.writing.Load()
	return since != 0 && clock.SteadyNanos(r.clock.Now())-since >= int64(StuckAfter)
}

// Recent returns the most recent events.
func (r *Recorder) Recent() *Recent { return r.recent }

func (r *Recorder) write(rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reportDropped(rec.At)
	write, before := r.samples.take(&rec)
	for _, one := range r.samples.due(rec.At) {
		r.line(one.last, one.more-1)
	}
	if write {
		r.line(rec, before)
	}
	r.sweepLater()
}

// writeSamples writes the samples that are due and that no other line has triggered.
func (r *Recorder) writeSamples() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep = nil
	for _, one := range r.samples.due(r.clock.Now()) {
		r.line(one.last, one.more-1)
	}
	r.sweepLater()
}

// sweepLater starts the timer that looks at samples, if there are any. The mutex is held.
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

// reportDropped writes how many events have found the queue full since the last report. The mutex
// is held.
func (r *Recorder) reportDropped(at time.Time) {
	if n := r.dropped.Load(); n != r.reported {
		lost := EventsDropped{Count: n - r.reported}
		r.reported = n
		r.line(r.remember(lost, at), 0)
	}
}

// line writes a record. Before is how many records of its kind were left out before it.
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

// put writes a record as a line that also has the number of suppressed lines.
func (r *Recorder) put(rec Record, suppressed int) {
	// The line has the time of the event, not of the write.
	line := slog.NewRecord(rec.At, rec.level(), events[rec.kind].message, 0)
	line.AddAttrs(rec.line(suppressed)...)
	r.writing.Store(clock.SteadyNanos(r.clock.Now()))
	defer r.writing.Store(0)
	r.faults.At(context.Background(), fault.LogWrite, fault.Who{})
	// An error of the log cannot be reported anywhere. The next line may get through.
	_ = r.logger.Handler().Handle(context.Background(), line)
}

// writeRest writes the last record without a line of each cause and each kind, with their number,
// because no later line counts them.
func (r *Recorder) writeRest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reportDropped(r.clock.Now())
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

// incident returns the incident of an event: the ID that the event carries, or the incident of
// its row.
func (r *Recorder) incident(e Event, opens bool, at time.Time) string {
	w := e.where()
	if w.Incident != "" {
		return r.incidents.record(w.Path, w.Incident, at)
	}
	return r.incidents.of(w.Path, opens, at)
}

// budget rate-limits the lines of one kind of event. It counts the lines of the current second.
type budget struct {
	second     int64
	written    int
	suppressed int
	last       Record // the last suppressed record
}

// take reports whether a line may be written for a record, and how many were suppressed since the
// last line. Before is added to that number.
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
