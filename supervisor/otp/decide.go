package otp

import (
	"errors"
	"time"
)

// killGrace is how long a child that is killed has to come back from what it is doing. Go cannot end a goroutine: a
// worker between two messages needs microseconds to see the order, and one that is busy is abandoned. The rest is for
// a machine that is so loaded that it gets to run late; nobody waits it out but for a worker that is stuck.
const killGrace = 50 * time.Millisecond

// What a supervisor hears. Every input is about a child that it has in its roster, or about itself.
type (
	inBoot  struct{}               // start the children
	inStop  struct{ reason error } // stop the children and end
	inReady struct{ kid *kid }
	inExit  struct {
		kid    *kid
		reason error
		parked bool // its process waits in place; false: it has left
		lost   bool // it was fenced off because it hung
		blame  blame
		origin string // of the message it crashed on
		held   bool   // although its row took no message of that origin
	}
	inTimeout struct {
		kid   *kid // nil: the timer of a pool that stops
		timer uint32
		full  bool // too many do not come back for another one
	}
	inAgain struct{ kid *kid } // another try of a restart that failed
	inStart struct {
		kid     *kid // not in the roster yet
		request any
		full    bool // as of inTimeout
	}
	inTerminate struct {
		id      string
		request any
	}
	inRestart struct {
		id      string
		request any
		full    bool
	}
	inDelete struct {
		id      string
		request any
	}
)

// verb is what a supervisor does.
type verb uint8

const (
	doAdd     verb = iota // the child has a row from now on
	doSpawn               // start a process for the child
	doDisown              // drop the child's heir, because of reason
	doBegin               // start the next incarnation in the child's process
	doPark                // end the child's incarnation, keep its process
	doStop                // end the child and its process
	doKill                // the same, without ceremony
	doReap                // end the process of a child whose incarnation has ended
	doRest                // nothing runs for the child any more
	doAbandon             // fence the child's process off, which had delay
	doArm                 // wake the supervisor after delay, with the kid's timer number
	doDisarm              // forget that
	doAgain               // queue another try behind the requests that wait
	doDelete              // the row is gone
	doReply               // answer request: nil reason is success, with kid's address
	doReady               // the supervisor is ready
	doOpen                // take requests
	doShut                // let requests wait
	doGiveUp              // report that the intensity was exceeded
	doCharge              // report that a crash is charged to its origin, and refuse more of that when it repeats itself
	doPause               // report that the child is paused for delay
	doClose               // the supervisor begins to end, by its own decision
	doExit                // the supervisor has ended
)

func (v verb) String() string {
	return name(v, "add", "spawn", "disown", "begin", "park", "stop", "kill", "reap", "rest", "abandon", "arm", "disarm", "again",
		"delete", "reply", "ready", "open", "shut", "give-up", "charge", "pause", "close", "exit")
}

// action is one thing to do, in the order decided.
type action struct {
	verb    verb
	kid     *kid
	reason  error
	delay   time.Duration
	timer   uint32 // number of the timer to set
	request any

	origin string // of doCharge; delay is for how long the child takes no message of it
	times  int    // that the origin has crashed the child in a row
}

// mode is what a supervisor is about.
type mode uint8

const (
	booting mode = iota
	serving
	closing
	closed
)

// step is one part of a plan: to stop a child, or to start it.
type step struct {
	kid  *kid
	stop bool
}

// state decides for one supervisor. Step is its only way in: it reads no clock, performs nothing and blocks nowhere.
//
// Where order matters (boot, stop, the groups of one_for_all and rest_for_one) it follows a plan, one step at a
// time; exits that come meanwhile wait until the plan is done, as EXIT messages wait for OTP's supervisor. The children of
// one_for_one and simple_one_for_one are otherwise independent: a slow start of one holds up no other.
type state struct {
	path      string
	strategy  Strategy
	auto      AutoShutdown
	intensity Intensity
	backoff   Backoff

	window  window
	roster  roster
	mode    mode
	plan    []step
	waiting []*kid // ended while a plan was being followed
	pending int    // children of a pool that are still to end
	asked   int    // starts under way for which somebody waits
	most    int    // of those
	timer   uint32 // of the pool
	reason  error  // why it ends
	out     []action
}

func newState(path string, s Spec) *state {
	i := s.Intensity.orDefault()
	return &state{path: path, strategy: s.Strategy, auto: s.AutoShutdown, intensity: i, backoff: s.Backoff, window: newWindow(i), most: MaxStarting, roster: newRoster(len(s.Children))}
}

// Step takes one input and returns what to do now, in order. The result is valid until the next call.
func (s *state) Step(now time.Time, in any) []action {
	s.out = s.out[:0]
	switch in := in.(type) {
	case inBoot:
		for k := s.roster.first; k != nil; k = k.next {
			s.plan = append(s.plan, step{kid: k})
		}
		s.advance(now)
	case inStop:
		s.close(now, in.reason)
	case inReady:
		s.ready(now, in.kid)
	case inExit:
		s.exited(now, in)
	case inTimeout:
		s.timedOut(now, in)
	case inAgain:
		if k := in.kid; s.mode == serving && k.again && k.stage == dead {
			k.again = false
			s.restart(now, k, k.reason)
		}
	case inStart:
		s.startChild(now, in)
	case inTerminate:
		s.terminateChild(in)
	case inRestart:
		s.restartChild(now, in)
	case inDelete:
		s.deleteChild(in)
	}
	return s.out
}

func (s *state) do(v verb, k *kid) { s.out = append(s.out, action{verb: v, kid: k}) }

// ready: a start has succeeded.
func (s *state) ready(now time.Time, k *kid) {
	if k.stage != going {
		return // it was told to end meanwhile
	}
	s.disarm(k)
	s.roster.move(k, up)
	s.answerStarter(k, nil)
	s.stepped(now, k)
}

// exited: an incarnation has ended, by itself or as it was told.
func (s *state) exited(now time.Time, in inExit) {
	k := in.kid
	k.tried(in.blame)
	k.origin, k.held = in.origin, in.held
	switch k.stage {
	case going:
		s.startFailed(now, k, in.reason, in.parked)
	case up:
		s.roster.move(k, dead)
		k.parked, k.lost, k.reason = in.parked, in.lost, in.reason
		if len(s.plan) > 0 {
			s.waiting = append(s.waiting, k)
			return
		}
		s.verdict(now, k)
	case away:
		k.parked = in.parked && !k.leaving
		s.gone(now, k, nil)
	}
}

// verdict decides about a child that ended by itself.
func (s *state) verdict(now time.Time, k *kid) {
	switch r := k.child.Restart; {
	case s.backoff.isZero() && errors.Is(k.reason, ErrGiveUp) && (k.child.Start.Type() == WorkerType || k.lost): // not a supervisor that gave up for it
		reason := k.reason
		s.retire(k)
		s.selfClose(now, ShutdownWith(reason))
		return
	case r == Permanent, r == Transient && !IsNormal(k.reason):
		s.restart(now, k, k.reason)
		return
	}
	significant := k.child.Significant
	s.retire(k)
	switch {
	case !significant:
	case s.auto == AnySignificant, s.auto == AllSignificant && s.roster.significant == 0:
		s.selfClose(now, ErrShutdown)
	}
}

// restart restarts a child and whoever the strategy ties to it, if the intensity allows.
func (s *state) restart(now time.Time, k *kid, reason error) {
	if !s.backoff.isZero() {
		s.again(now, k, reason)
		return
	}
	if !s.window.add(now) {
		err := &IntensityError{Path: s.path, Child: k.id, Intensity: s.intensity, Reason: reason}
		s.out = append(s.out, action{verb: doGiveUp, kid: k, reason: err})
		s.retire(k)
		s.selfClose(now, ShutdownWith(err))
		return
	}
	if s.doubted(now, k) {
		k.crashes = 0
		s.out = append(s.out, action{verb: doDisown, kid: k, reason: reason})
	}
	switch s.strategy {
	case OneForAll:
		s.regroup(now, s.roster.first, k)
	case RestForOne:
		s.regroup(now, k, k)
	default:
		s.start(k, true)
	}
}

// regroup plans to stop all children from first on, in reverse, and to start them again, in order. What has ended
// already is not stopped; what was terminated earlier is started too, as in OTP.
func (s *state) regroup(now time.Time, first, failed *kid) {
	for k := s.roster.last; k != first.prev; k = k.prev {
		s.plan = append(s.plan, step{kid: k, stop: true})
	}
	for k := first; k != nil; k = k.next {
		s.plan = append(s.plan, step{kid: k})
	}
	s.do(doShut, nil)
	s.advance(now)
}

// startFailed: a start has ended before it was ready.
func (s *state) startFailed(now time.Time, k *kid, reason error, parked bool) {
	s.disarm(k)
	k.parked = parked
	err := &StartError{Path: s.path + "/" + k.id, Reason: reason}
	switch {
	case s.mode == closing: // its turn to be stopped had not come
		s.settleIdle(k, false)
		s.answerStarter(k, ErrShutdown)
	case reason == Ignore:
		s.settleIdle(k, k.child.Restart == Temporary || s.strategy == SimpleOneForOne)
		s.answerStarter(k, nil)
	case s.mode == booting && s.backoff.Boots:
		if k.failures == nil {
			k.failures = &failures{window: newWindow(s.intensity)}
		}
		s.pause(now, k, err)
		return
	case s.mode == booting:
		s.settleIdle(k, false)
		s.selfClose(now, ShutdownWith(err))
		return
	case k.starter != nil:
		s.settleIdle(k, k.fresh)
		s.answerStarter(k, err)
	default: // a restart: try again, but let requests that wait come first
		s.roster.move(k, dead)
		k.reason, k.again = reason, true
		s.do(doAgain, k)
		s.plan = s.plan[:0]
		s.settle(now)
		return
	}
	s.stepped(now, k)
}
