package telemetry

import (
	"slices"
	"time"
)

// While a server is away each call of it is refused for the same cause, and while the host drains
// each new one. The line of the incident, or of the drain, has begun that story: one line counts
// the refusals SampleEvery later, or at the end of the log. The requests that were on their way
// when a client ended its session have a line at once, and the next one counts the others. So
// have the lines that a program prints among its messages.
const (
	SampleEvery = time.Minute
	// MaxSamples bounds the causes that are counted; further ones are written as they come.
	MaxSamples = 64
)

const (
	// sessionGone is the reason of requests whose session has ended.
	sessionGone = "session_gone"
	// stopping is the reason of requests while the host drains, which is one cause for all tenants.
	stopping = "stopping"
	// noise is that of a server's lines which are no messages.
	noise = "noise"
)

// cause is what refusals, or lines, have in common that are told as one.
type cause struct{ tenant, server, reason, incident string }

// sample is the refusals of one cause since the last line.
type sample struct {
	cause cause
	since time.Time // of that line
	more  int       // refusals that have no line
	last  Record    // the last of them
}

// samples are the causes of late, in the order of their first line. They are for one goroutine at a
// time.
type samples struct {
	all   []*sample
	swept time.Time
}

// add counts a record that has no line yet. Noise has its own count.
func (s *sample) add(rec Record) {
	s.more++
	if n, is := rec.Event.(UpstreamNoise); is {
		if before, some := s.last.Event.(UpstreamNoise); some {
			n.Lines += before.Lines
		}
		s.more, rec.Event = 1, n
	}
	s.last = rec
}

// take reports whether a record is to be written, and how many before it were not. It adds to the
// record what only that counts.
func (s *samples) take(rec *Record) (write bool, before int) {
	e, is := rec.Event.(Rejected)
	why := cause{e.Tenant, e.Server, e.Reason, rec.Incident}
	n, noisy := rec.Event.(UpstreamNoise)
	switch {
	case noisy:
		why = cause{tenant: n.Tenant, server: n.Server, reason: noise}
	case is && e.Reason == stopping:
		why = cause{reason: stopping}
	case !is || (e.Server == "" || rec.Incident == "") && e.Reason != sessionGone:
		return true, 0
	}
	at := slices.IndexFunc(s.all, func(one *sample) bool { return one.cause == why })
	if at < 0 {
		if len(s.all) == MaxSamples {
			return true, 0
		}
		first := &sample{cause: why, since: rec.At}
		if why.reason != sessionGone && why.reason != noise {
			first.more, first.last = 1, *rec
		}
		s.all = append(s.all, first)
		return first.more == 0, 0
	}
	one := s.all[at]
	if one.add(*rec); rec.At.Sub(one.since) < SampleEvery {
		return false, 0
	}
	*rec, before = one.last, one.more-1
	*one = sample{cause: why, since: rec.At}
	return true, before
}

// due returns the causes that have had no line for SampleEvery: the last refusal of each, which is to
// be written, and how many before it were not. It looks once a second.
func (s *samples) due(now time.Time) (late []sample) {
	if len(s.all) == 0 || now.Sub(s.swept) < time.Second {
		return nil
	}
	s.swept = now
	s.all = slices.DeleteFunc(s.all, func(one *sample) bool {
		over := now.Sub(one.since) >= SampleEvery
		if over && one.more > 0 {
			late = append(late, *one)
		}
		return over
	})
	return late
}

// rest returns the causes of which refusals have no line, and forgets all.
func (s *samples) rest() []sample {
	var left []sample
	for _, one := range s.all {
		if one.more > 0 {
			left = append(left, *one)
		}
	}
	s.all = nil
	return left
}
