package recovery

import (
	"maps"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/internal/sortedmap"
)

// Draw returns a random duration from 0 to below n, which varies the pauses.
type Draw = func(n time.Duration) time.Duration

// Event is something that happened to the connection with a key.
type Event struct {
	Op     Op
	Key    tenant.Key
	State  client.State   // Report: its state
	Ending *client.Ending // Report: why its last start failed, nil if it did not; GiveUp
	At     time.Time      // Report: time of the state
	There  bool           // Report: it runs
	Away   bool           // Report: it has found the URL unreachable
	Steady bool           // Report: it was ready for Steady until now
	Times  uint64         // Due
}

// Op is the kind of an event.
type Op uint8

// The events.
const (
	Report Op = iota + 1 // the connection reports its state
	GiveUp               // its restart budget ran out, or it was a probe that failed
	Gone                 // it is gone
	Due                  // Wait is over
	// The table was restored after a crash of the catalogue or the end of the host, and no timer runs.
	Restore
)

// Effect is something that the caller must do.
type Effect struct {
	Do     Do
	Key    tenant.Key     // zero for all connections to the server
	Ending *client.Ending // the reason
	Wait   time.Duration
	First  bool // Quarantined: the quarantine begins
	Times  uint64
}

// Do is the kind of an effect.
type Do uint8

// The effects.
const (
	Quarantined Do = iota + 1 // report that it is quarantined
	CrashLoop                 // report that it was given up
	Released                  // report that a probe has ended the quarantine
	Retry                     // allow its start after Wait
	Fail                      // end it, and answer with GiveUp
	Resume                    // start the connections that sessions had used
	Check                     // the other connections that are ready check their server
	Hold                      // it dials again only when told to, in Wait
	HoldAll                   // as Hold, for all connections that found the URL unreachable
	Wait                      // answer with Due after Wait
	// one connection that found the URL unreachable dials; answer with SetProbe
	Dial
	Redial // all of them dial, except this one
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
		s.probeGone(in.Key)
	case Due:
		if a := s.away; a != nil && a.times == in.Times && !a.dials {
			s.do(Effect{Do: Dial})
		}
	case Restore:
		s.restore()
	}
	return s.effects
}

// restore schedules all pending pauses again.
func (s *step) restore() {
	for key := range sortedmap.SortedBy(s.pauses, tenant.Key.Compare) {
		s.retry(key)
	}
	if s.away != nil { // the connection that dialled may have reported to the previous incarnation
		s.dialLater()
	}
	s.retry(tenant.Key{})
}

func (s *step) retry(key tenant.Key) {
	if wait := s.Wait(key, s.now); wait > 0 {
		s.do(Effect{Do: Retry, Key: key, Wait: wait})
	}
}

// report handles the state of a connection. After it was ready for Steady, its pauses are short
// again.
func (s *step) report(in Event) {
	if in.Steady {
		delete(s.pauses, in.Key)
	}
	if in.Ending != nil {
		s.ended(in.Key, in.Ending)
	}
	s.reportAbsence(in)
	if !s.probed(in) && in.State == client.Ready {
		s.ended(in.Key, nil)
	}
}

// probed handles a report that may be the result of a probe. It returns true if the connection must
// end. A quarantine ends when the probe is ready. The quarantine of the whole server also ends when
// the probe fails for another reason.
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

// giveUp pauses a connection whose restart budget ran out. It is started again after the pause.
// When this happens MaxGivenUp times in a row the connection is quarantined, and started only as a
// probe.
func (s *step) giveUp(key tenant.Key, ending *client.Ending) {
	if len(s.pauses) >= MaxPauses {
		maps.DeleteFunc(s.pauses, func(_ tenant.Key, p *Pause) bool { return !p.Until.After(s.now) })
	}
	p := s.pauses[key]
	if p == nil {
		p = &Pause{Since: s.now}
		s.pauses[key] = p
	}
	e := Effect{Do: CrashLoop, Key: key, Ending: ending}
	if p.Times++; p.Quarantined() {
		e.Do, e.Ending, e.First = Quarantined, ending.Again(), p.Times == MaxGivenUp
	}
	s.ended(key, e.Ending)
	s.begin(p, e)
}

// quarantine holds back a server that cannot work for anyone.
func (s *step) quarantine(ending *client.Ending) {
	p := s.whole
	switch {
	case p == nil:
		p = &Pause{Since: s.now, Times: MaxGivenUp}
		s.whole = p
	case p.Operator || p.Until.After(s.now): // another connection has reported the same
		return
	default:
		p.Times++
	}
	s.begin(p, Effect{Do: Quarantined, Ending: ending, First: p.Times == MaxGivenUp})
}

// begin begins the next pause.
func (s *step) begin(p *Pause, e Effect) {
	e.Wait = p.grow(e.Ending, s.now, s.draw)
	s.do(e)
	s.do(Effect{Do: Retry, Key: e.Key, Wait: e.Wait})
}
