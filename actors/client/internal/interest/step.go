package interest

import (
	"maps"
	"slices"
	"time"

	"mcpd/internal/sortedmap"
	"mcpd/supervisor/otp"
)

const (
	// AtOnce bounds the requests that the server has to answer at the same time. When a shared server
	// is started again there may be thousands, of all its sessions: more than may wait for it at once.
	AtOnce = 32
	// HoldTime is how long calls wait for the answers to what a new server is asked first. A direct
	// client of the server would make its first call when it has those answers. A server may handle
	// requests out of order, so that the log lines and the updates of a call right behind them would
	// be lost.
	HoldTime = 2 * time.Second
	// AgainAfter is the pause before a server that has refused to announce a resource is asked once
	// more. It is asked only about resources that sessions count as subscribed to.
	AgainAfter = 10 * time.Second
)

// step is the handling of one event.
type step struct {
	*Table
	now     time.Time
	to      Server
	effects []Effect
}

// Step handles an event and returns what to do, in order. The requests of Next come after that.
func (t *Table) Step(now time.Time, to Server, in Event) []Effect {
	s := step{Table: t, now: now, to: to}
	switch in.Op {
	case Intent:
		s.setIntent(in)
	case Call:
		s.call(in)
	case Leave:
		s.leave(in.Session)
	case Follow, Unfollow:
		s.followToo(in)
	case Level:
		if s.level(in.Session, in.Level, in.Alone) {
			s.wait()
		}
	case Recover:
		s.recover(in)
	case Restore:
		s.restore()
	case Answered:
		s.queueFull = false
		s.answered(in)
	case QueueFull:
		s.out--
		s.queue, s.queueFull = slices.Insert(s.queue, 0, in.Ask), true
		s.do(Effect{Do: Pause})
	case Retry:
		s.queueFull = false
	case Again:
		s.again(in.URI)
	case Expire:
		if !now.Before(s.until) {
			s.release()
		}
	case GiveUp:
		s.grant(nil)
	case Settle: // as after every event
	}
	if s.pending() == 0 && (to.Ready || to.Asleep) {
		s.grant(s.refused)
		s.release()
	}
	return s.effects
}

func (s *step) do(e Effect) { s.effects = append(s.effects, e) }

// Next returns the next request to the server, if one may be sent now. Answered follows, or
// QueueFull at once.
func (t *Table) Next() (a Ask, ok bool) {
	if len(t.queue) == 0 || t.out >= AtOnce || t.queueFull {
		return a, false
	}
	a, t.queue = t.queue[0], t.queue[1:]
	t.out++
	return a, true
}

// setIntent records what a session wants. An earlier intent of the session that still waits is
// granted at once, because the new intent includes it.
func (s *step) setIntent(in Event) {
	if before, waits := s.intents[in.Session]; waits {
		s.do(Effect{Do: Grant, Waiter: before.from})
	}
	s.intents[in.Session] = intent{in.Session, in.Level != "", in.Waiter}
	if in.Level != "" {
		s.level(in.Session, in.Level, false)
	}
	for _, uri := range in.URIs {
		known := s.Agreed(uri)
		if s.hold(uri, in.Session, true); s.to.Ready && !known {
			s.do(Effect{Do: Serve, Session: in.Session})
			s.follow(uri, true, false)
		}
		if in.Missed {
			s.missed(uri, in.Session)
		}
	}
}

// grant answers the intents.
func (s *step) grant(refused error) {
	for session, w := range sortedmap.Sorted(s.intents) {
		e := Effect{Do: Grant, Waiter: w.from}
		if w.level {
			e.Err = refused
		}
		delete(s.intents, session)
		s.do(e)
	}
}

// leave gives up what only this session had wanted. Nobody waits for its intent any more, but a
// call is a pending reply until it is answered.
func (s *step) leave(session string) {
	if w, waits := s.intents[session]; waits {
		delete(s.intents, session)
		s.do(Effect{Do: Grant, Waiter: w.from, Err: otp.ErrNoProc})
	}
	s.level(session, "", false)
	for uri, who := range sortedmap.Sorted(s.uris) {
		if _, wants := who[session]; wants && s.letGo(uri, session) && s.to.Ready {
			s.follow(uri, false, false)
		}
	}
}

// recover restores what was wanted before the table was given up.
func (s *step) recover(in Event) {
	for uri, who := range sortedmap.Sorted(in.Resources) {
		for session, agreed := range sortedmap.Sorted(who) {
			s.hold(uri, session, agreed)
		}
		if s.to.Ready {
			s.follow(uri, true, false)
		}
	}
	for session, level := range in.Levels {
		if s.levels[session] == "" {
			s.levels[session] = level
		}
	}
	if s.to.Ready {
		s.askLevel(s.verbose())
	}
}

// restore asks a new server for what clients had asked of the old one. Subscriptions that the old
// one had not agreed to were calls, and have failed with it or come again. Nobody knows whether a
// resource that was subscribed to before has changed meanwhile: that counts as a change.
func (s *step) restore() {
	s.askLevel(s.verbose())
	for uri, who := range sortedmap.Sorted(s.uris) {
		maps.DeleteFunc(who, func(_ string, agreed bool) bool { return !agreed })
		if len(who) == 0 {
			s.drop(uri)
			continue
		}
		for session := range sortedmap.Sorted(who) {
			s.do(Effect{Do: Serve, Session: session})
		}
		s.follow(uri, true, s.before[uri])
	}
	s.wait()
}

// wait makes calls wait until the server has answered what it is asked beside them.
func (s *step) wait() {
	if s.pending() > 0 && !s.Holds() {
		s.until = s.now.Add(HoldTime)
		s.do(Effect{Do: Hold, At: s.until})
	}
}

func (s *step) release() {
	if s.Holds() {
		s.until = time.Time{}
		s.do(Effect{Do: Release})
	}
}

// level records the level that a session wants, and reports whether the server is to be asked for
// another.
func (s *step) level(session, level string, alone bool) (another bool) {
	before := s.verbose()
	if alone {
		clear(s.levels)
	}
	if s.levels[session] = level; level == "" {
		delete(s.levels, session)
	}
	now := s.verbose()
	if another = s.to.Ready && now != before; another {
		s.askLevel(now)
	}
	return another
}

func (s *step) askLevel(level string) {
	if level != "" && !s.leveling && s.to.Levels {
		s.leveling = true
		s.queue = append(s.queue, Ask{setLevel, level})
	}
}
