package recovery

import (
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
)

// Pauses between dials of a URL at which the server is unreachable. A pause doubles from the first,
// up to half a second or a tenth of the absence, whichever is longer, and up to LastDial. The half
// second doubles, up to five times, with each flap in a row (see DialFlap). So the server is ready
// again soon after it is back, and costs little meanwhile. There is one pause for the whole server:
// one connection dials, as a probe, and its success ends the pause of all.
const (
	FirstDial    = 100 * time.Millisecond
	SteadyDial   = 500 * time.Millisecond
	LastDial     = 30 * time.Second
	DialFlap     = 5 * time.Second // a server that is ready for less has not come back
	absenceShare = 10              // the share of the absence that a pause may take: one tenth
)

// absence is the state of a server whose URL is unreachable.
type absence struct {
	why          *client.Ending
	since        time.Time
	gap          time.Duration
	until        time.Time
	probe        tenant.Key // connection that dials
	dials        bool
	times        uint64 // number of pauses so far, by which Due finds its own
	shortReturns int    // how often in a row it was back for less than DialFlap
}

// grow begins the next pause.
func (a *absence) grow(now time.Time, draw Draw) time.Duration {
	last := min(max(SteadyDial<<min(a.shortReturns, 5), now.Sub(a.since)/absenceShare), LastDial)
	a.gap = min(max(2*a.gap, FirstDial), last)
	wait := a.gap*3/4 + draw(a.gap/4+1)
	a.until, a.dials = now.Add(wait), false
	a.times++
	return wait
}

// wait is the time until the next dial, and FirstDial at least, also during a dial.
func (a *absence) wait(now time.Time) time.Duration { return max(a.until.Sub(now), FirstDial) }

// closed reports whether no further connection may be opened because the server is unreachable, and
// for how long. If the server is unreachable and closed returns false, the next connection is the
// probe.
func (a *absence) closed(now time.Time) (wait time.Duration, closed bool) {
	if a == nil || !a.dials && !a.until.After(now) {
		return 0, false
	}
	return a.wait(now), true
}

// reportAbsence handles a connection's report about a server behind a URL.
func (s *step) reportAbsence(in Event) {
	a := s.away
	switch {
	case in.Away:
		s.unreachable(in)
	case a == nil:
	case in.State == client.Ready:
		s.away, s.back, s.flaps = nil, s.now, a.shortReturns
		s.do(Effect{Do: Redial, Key: in.Key})
		s.do(Effect{Do: Resume})
	case in.State != client.Starting: // the start has failed in another way
		s.probeGone(in.Key)
	}
}

// unreachable handles a connection that finds the URL unreachable.
func (s *step) unreachable(in Event) {
	switch a := s.away; {
	case a == nil:
		a = &absence{since: s.now}
		if s.now.Sub(s.back) < DialFlap {
			a.shortReturns = min(s.flaps+1, 10)
			a.gap = FirstDial << a.shortReturns / 2
		}
		s.away = a
		s.do(Effect{Do: Check, Key: in.Key})
	// another connection dials, or is going to
	case a.dials && a.probe != in.Key || !a.dials && a.until.After(s.now):
		s.do(Effect{Do: Hold, Key: in.Key, Wait: a.wait(s.now)})
		return
	}
	s.away.why = in.Ending
	s.dialLater()
}

// dialLater schedules the next dial after a pause, and tells it to all connections that wait.
func (s *step) dialLater() {
	wait := s.away.grow(s.now, s.draw)
	s.do(Effect{Do: HoldAll, Wait: wait})
	s.do(Effect{Do: Wait, Wait: wait, Times: s.away.times})
}

// probeGone has another connection dial when the one that dialled is gone.
func (s *step) probeGone(key tenant.Key) {
	if a := s.away; a != nil && a.dials && a.probe == key {
		s.dialLater()
	}
}
