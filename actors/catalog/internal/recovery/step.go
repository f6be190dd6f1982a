package recovery

import (
	"maps"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/internal/order"
)

// Draw is a time from 0 to below n, by which pauses differ.
type Draw = func(n time.Duration) time.Duration

// Event is something that happened to the connection with a key.
type Event struct {
	Op     Op
	Key    tenant.Key
	State  client.State   // Report: it is in
	Ending *client.Ending // Report: of its last start, nil for none; GiveUp
	At     time.Time      // Report: when that was so
	There  bool           // Report: it runs
	Away   bool           // Report: it has found nobody at its URL
	Steady bool           // Report: it was ready for Steady until now
	Times  uint64         // Due
}

// Op says what happened.
type Op uint8

// The events.
const (
	Report  Op = iota + 1 // it says how it is
	GiveUp                // its restart budget ran out, or the probe that it was has failed
	Gone                  // it is no more
	Due                   // Wait is over
	Restore               // the table survived a crash, or its host: nothing of it is waited for
)

// Effect is something to do.
type Effect struct {
	Do     Do
	Key    tenant.Key     // zero where it is all connections to the server
	Ending *client.Ending // why
	Wait   time.Duration
	First  bool // Quarantined: it begins
	Times  uint64
}

// Do says what to do.
type Do uint8

// The effects.
const (
	Quarantined Do = iota + 1 // it is to be known that it is
	CrashLoop                 // it is to be known that it was given up
	Released                  // it is to be known that the quarantine is over, by a probe
	Retry                     // it may be started after Wait
	Fail                      // it ends, and GiveUp comes back
	Resume                    // what sessions had used is started
	Check                     // those that are ready, but for it, look whether their server is
	Hold                      // it dials again when it is told to, which takes Wait
	HoldAll                   // so do all that found nobody
	Wait                      // Due comes after Wait
	Dial                      // one of those that found nobody dials: Dials
	Redial                    // all of them do, but for it
)

// step is the handling of one event.
type step struct {
	*Table
	now     time.Time
	draw    Draw
	effects []Effect
}

func (s *step) do(e Effect) { s.effects = append(s.effects, e) }

// Step handles an event.
func (t *Table) Step(now time.Time, draw Draw, in Event) []Effect {
	s := &step{Table: t, now: now, draw: draw}
	switch in.Op {
	case Report:
		s.report(in)
	case GiveUp:
		s.giveUp(in.Key, in.Ending)
	case Gone:
		s.undialled(in.Key)
	case Due:
		if a := s.away; a != nil && a.times == in.Times && !a.dials {
			s.do(Effect{Do: Dial})
		}
	case Restore:
		s.restore()
	}
	return s.effects
}

// restore waits again for all that was waited for.
func (s *step) restore() {
	for key := range order.By(s.pauses, tenant.Key.Compare) {
		s.retry(key)
	}
	if s.away != nil { // who dialled tells that the one before
		s.dialLater()
	}
	s.retry(tenant.Key{})
}

func (s *step) retry(key tenant.Key) {
	if wait := s.Wait(key, s.now); wait > 0 {
		s.do(Effect{Do: Retry, Key: key, Wait: wait})
	}
}

// report hears how a connection is. One that was ready for a while has earned short pauses again.
func (s *step) report(in Event) {
	if in.Steady {
		delete(s.pauses, in.Key)
	}
	if in.Ending != nil {
		s.ended(in.Key, in.Ending)
	}
	s.attend(in)
	if !s.probed(in) && in.State == client.Ready {
		s.ended(in.Key, nil)
	}
}

// probed hears from a connection that is quarantined, or may be, and reports whether that is its
// end. One that is ready, or whose cause is not the one for which all of the server was quarantined,
// ends that.
func (s *step) probed(in Event) (fails bool) {
	switch {
	case in.State == client.Quarantined:
		s.quarantine(in.Ending)
		return false
	case in.State == client.Starting:
		return false
	case s.whole != nil && !s.whole.Operator && !in.At.Before(s.whole.Until):
		s.whole = nil
		s.do(Effect{Do: Released})
	}
	switch p := s.pauses[in.Key]; {
	case p == nil || !p.Down:
	case in.State == client.Ready && p.Quarantined():
		delete(s.pauses, in.Key)
		s.do(Effect{Do: Released})
	case in.State == client.Ready:
		p.Down = false
	case p.Quarantined() && in.There && in.Ending != nil: // one failure of a probe is enough
		s.do(Effect{Do: Fail, Key: in.Key, Ending: in.Ending})
		return true
	}
	return false
}

// giveUp pauses a connection whose restart budget ran out: it is started again after that, or after
// too many of them only for a probe.
func (s *step) giveUp(key tenant.Key, why *client.Ending) {
	if len(s.pauses) >= MaxPauses {
		maps.DeleteFunc(s.pauses, func(_ tenant.Key, p *Pause) bool { return !p.Until.After(s.now) })
	}
	p := s.pauses[key]
	if p == nil {
		p = &Pause{Since: s.now}
		s.pauses[key] = p
	}
	e := Effect{Do: CrashLoop, Key: key, Ending: why}
	if p.Times++; p.Quarantined() {
		e.Do, e.Ending, e.First = Quarantined, why.Again(), p.Times == MaxGivenUp
	}
	s.ended(key, e.Ending)
	s.begin(p, e)
}

// quarantine leaves a server alone that cannot work for anybody.
func (s *step) quarantine(why *client.Ending) {
	p := s.whole
	switch {
	case p == nil:
		p = &Pause{Since: s.now, Times: MaxGivenUp}
		s.whole = p
	case p.Operator || p.Until.After(s.now): // others have found the same at the same time
		return
	default:
		p.Times++
	}
	s.begin(p, Effect{Do: Quarantined, Ending: why, First: p.Times == MaxGivenUp})
}

// begin begins the next pause.
func (s *step) begin(p *Pause, e Effect) {
	e.Wait = p.grow(e.Ending, s.now, s.draw)
	s.do(e)
	s.do(Effect{Do: Retry, Key: e.Key, Wait: e.Wait})
}
