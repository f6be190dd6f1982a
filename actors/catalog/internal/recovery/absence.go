package recovery

import (
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
)

// Pauses between dials of a server behind a URL that is away. They double from the first, and are
// half a second or a tenth of how long it has been away, whichever is longer: so it is ready again
// soon after it is back, and costs little meanwhile. The time is that of the whole server: one
// connection dials, which is the probe, and its success ends the pause of all.
const (
	FirstDial   = 100 * time.Millisecond
	SteadyDial  = 500 * time.Millisecond
	LastDial    = 30 * time.Second
	DialFlap    = 5 * time.Second // a server that is ready for less has not come back
	dialedLater = 10              // the share of the absence that a pause is
)

// absence is a server behind a URL that nothing reaches.
type absence struct {
	why   *client.Ending
	since time.Time
	gap   time.Duration
	until time.Time
	probe tenant.Key // of the connection that dials
	dials bool
	times uint64 // that it was found away
	flaps int    // that it was back for less than DialFlap before
}

// grow begins the next pause.
func (a *absence) grow(now time.Time, draw Draw) time.Duration {
	last := min(max(SteadyDial<<min(a.flaps, 5), now.Sub(a.since)/dialedLater), LastDial)
	a.gap = min(max(2*a.gap, FirstDial), last)
	wait := a.gap*3/4 + draw(a.gap/4+1)
	a.until, a.dials = now.Add(wait), false
	a.times++
	return wait
}

// wait is how long it is until it is dialled next; the time of a dial counts as the shortest.
func (a *absence) wait(now time.Time) time.Duration { return max(a.until.Sub(now), FirstDial) }

// closed reports whether no further connection is to be opened because the server is away, and until
// when. The one that may be is the probe.
func (a *absence) closed(now time.Time) (wait time.Duration, closed bool) {
	if a == nil || !a.dials && !a.until.After(now) {
		return 0, false
	}
	return a.wait(now), true
}

// attend follows what a connection says of a server behind a URL.
func (s *step) attend(in Event) {
	a := s.away
	switch {
	case in.Away:
		s.miss(in)
	case a == nil:
	case in.State == client.Ready:
		s.away, s.back, s.flaps = nil, s.now, a.flaps
		s.do(Effect{Do: Redial, Key: in.Key})
		s.do(Effect{Do: Resume})
	case in.State != client.Starting: // it ends otherwise
		s.undialled(in.Key)
	}
}

// miss hears that a connection finds nobody at the URL.
func (s *step) miss(in Event) {
	switch a := s.away; {
	case a == nil:
		a = &absence{since: s.now}
		if s.now.Sub(s.back) < DialFlap {
			a.flaps = min(s.flaps+1, 10)
			a.gap = FirstDial << a.flaps / 2
		}
		s.away = a
		s.do(Effect{Do: Check, Key: in.Key})
	case a.dials && a.probe != in.Key || !a.dials && a.until.After(s.now): // another dials, or is going to
		s.do(Effect{Do: Hold, Key: in.Key, Wait: a.wait(s.now)})
		return
	}
	s.away.why = in.Ending
	s.dialLater()
}

// dialLater has the server dialled after a pause, which all that wait for it hear of.
func (s *step) dialLater() {
	wait := s.away.grow(s.now, s.draw)
	s.do(Effect{Do: HoldAll, Wait: wait})
	s.do(Effect{Do: Wait, Wait: wait, Times: s.away.times})
}

// undialled has another connection dial when the one that did is no more.
func (s *step) undialled(key tenant.Key) {
	if a := s.away; a != nil && a.dials && a.probe == key {
		s.dialLater()
	}
}
