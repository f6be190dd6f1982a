package telemetry

import (
	"slices"
	"time"
)

// While a server is down, each call of it is refused for the same cause. While the host drains,
// each new call is. The line of the incident or of the drain has reported the cause already, so
// one line counts the refusals after SampleEvery, or at the end of the log. Requests that were in
// flight when their session ended have a line at once, and the next line counts the others. The
// same holds for lines that a program prints among its messages.
const (
	SampleEvery = time.Minute
	// MaxSamples bounds the causes that are counted. Records of further causes are written as they
	// come.
	MaxSamples = 64
)

const (
	// sessionGone is the reason of requests whose session has ended.
	sessionGone = "session_gone"
	// stopping is the reason of requests while the host drains, which is one cause for all tenants.
	stopping = "stopping"
	// noise is the reason of a server's lines that are not messages.
	noise = "noise"
)

// cause is the common key of refusals, or lines, that are reported together.
type cause struct{ tenant, server, reason, incident string }

// sample holds the refusals of one cause since the last line.
type sample struct {
	cause cause
	since time.Time // time of that line
	more  int       // refusals without a line
	last  Record    // the last of them
}

// samples are the causes of the last SampleEvery, in the order of their first line. They are not
// safe for concurrent use.
type samples struct {
	all   []*sample
	swept time.Time
}

// add counts a record without a line. Noise has a count of its own.
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

// take reports whether a record is to be written, and how many records before it were left out.
// It adds the counts of left-out noise to the record.
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

// due returns the causes that have had no line for SampleEvery: the last refusal of each, which
// is to be written, and the number of refusals without a line. It looks at most once a second.
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

// rest returns the causes that have refusals without a line, and clears all.
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
