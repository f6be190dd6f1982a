package otp

import (
	"errors"
	"time"
)

// killGrace is how long a child that is killed has to return from what it is doing. Go cannot end a
// goroutine: a worker between two messages needs microseconds to see the order, and a busy one is
// abandoned. The rest of the time is for a machine under so much load that the worker runs late.
// Only a stuck worker uses up the whole time.
const killGrace = 50 * time.Millisecond

// Inputs of a supervisor. Each is about a child in its roster, or about the supervisor itself.
type (
	inBoot  struct{}               // start the children
	inStop  struct{ reason error } // stop the children and end
	inReady struct{ child *childRecord }
	inExit  struct {
		child  *childRecord
		reason error
		parked bool // true: its process waits in place; false: it has left
		lost   bool // it was isolated because it was stuck
		blame  blame
		origin string // origin of the message it crashed on
		held   bool   // although its row took no message of that origin
	}
	inTimeout struct {
		child *childRecord // nil for the timer of a pool that stops
		timer uint32
		full  bool // too many are stuck to start another one
	}
	inAgain struct{ child *childRecord } // another try of a restart that failed
	inStart struct {
		child   *childRecord // not in the roster yet
		request any
		full    bool // as in inTimeout
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

// verb is the kind of an action.
type verb uint8

const (
	doAdd         verb = iota // the child has a row from now on
	doSpawn                   // start a process for the child
	doDropCarried             // drop the child's carried state, because of reason
	doBegin                   // start the next incarnation in the child's process
	doPark                    // end the child's incarnation, keep its process
	doStop                    // end the child and its process
	doKill                    // the same, without Terminate
	doReap                    // end the process of a child whose incarnation has ended
	doRest                    // nothing runs for the child any more
	doAbandon                 // isolate the child's process, which had the time delay
	doArm                     // wake the supervisor after delay, with timer as the number
	doDisarm                  // cancel doArm
	doAgain                   // queue another try behind the waiting requests
	doDelete                  // delete the child's row
	doReply                   // answer request: with the child's address if reason is nil
	doReady                   // the supervisor is ready
	doOpen                    // take requests
	doShut                    // let requests wait
	doGiveUp                  // report that the intensity was exceeded
	// report a crash charged to its origin; refuse the origin if crashes repeat
	doCharge
	doPause // report that the child is paused for delay
	doClose // the supervisor begins to end, by its own decision
	doExit  // the supervisor has ended
)

func (v verb) String() string {
	return name(v, "add", "spawn", "disown", "begin", "park", "stop", "kill", "reap", "rest",
		"abandon", "arm", "disarm", "again",
		"delete", "reply", "ready", "open", "shut", "give-up", "charge", "pause", "close", "exit")
}

// action is one thing to do. Actions are performed in the order in which they were decided.
type action struct {
	verb    verb
	child   *childRecord
	reason  error
	delay   time.Duration
	timer   uint32 // number of the timer to set
	request any

	// origin and times belong to doCharge: the origin has crashed the child times in a row, and the
	// child takes no message of it for delay.
	origin string
	times  int
}

// mode is the phase of a supervisor's life.
type mode uint8

const (
	booting mode = iota
	serving
	closing
	closed
)

// step is one part of a plan: stop a child, or start it.
type step struct {
	child *childRecord
	stop  bool
}

// state makes the decisions of one supervisor. Step is its only entry: it reads no clock, performs
// nothing and does not block.
//
// Where order matters (boot, stop, the groups of one_for_all and rest_for_one), state follows a
// plan, one step at a time. Exits that arrive meanwhile wait until the plan is done, as EXIT
// messages wait for OTP's supervisor. Otherwise the children of one_for_one and simple_one_for_one
// are independent: a slow start of one delays no other.
type state struct {
	path      string
	strategy  Strategy
	auto      AutoShutdown
	intensity Intensity
	backoff   Backoff

	window             window
	roster             roster
	mode               mode
	plan               []step
	waiting            []*childRecord // ended while a plan was followed
	pending            int            // children of a pool that have not ended yet
	requestedStarts    int            // starts under way that a request waits for
	maxRequestedStarts int            // bound of asked
	timer              uint32         // number of the pool's timer
	reason             error          // why the supervisor ends
	out                []action
}

func newState(path string, s Spec) *state {
	i := s.Intensity.orDefault()
	return &state{
		path: path, strategy: s.Strategy, auto: s.AutoShutdown, intensity: i, backoff: s.Backoff,
		window: newWindow(i), maxRequestedStarts: MaxStarting, roster: newRoster(len(s.Children)),
	}
}

// Step takes one input and returns what to do now, in order. The result is valid until the next
// call of Step.
func (s *state) Step(now time.Time, in any) []action {
	s.out = s.out[:0]
	switch in := in.(type) {
	case inBoot:
		for k := s.roster.first; k != nil; k = k.next {
			s.plan = append(s.plan, step{child: k})
		}
		s.advance(now)
	case inStop:
		s.close(now, in.reason)
	case inReady:
		s.ready(now, in.child)
	case inExit:
		s.exited(now, in)
	case inTimeout:
		s.timedOut(now, in)
	case inAgain:
		if k := in.child; s.mode == serving && k.retryQueued && k.stage == dead {
			k.retryQueued = false
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

func (s *state) do(v verb, k *childRecord) { s.out = append(s.out, action{verb: v, child: k}) }

// ready handles a start that has succeeded.
func (s *state) ready(now time.Time, k *childRecord) {
	if k.stage != going {
		return // it was told to end meanwhile
	}
	s.disarm(k)
	s.roster.move(k, up)
	s.answerStarter(k, nil)
	s.stepped(now, k)
}

// exited handles the end of an incarnation, by itself or as ordered.
func (s *state) exited(now time.Time, in inExit) {
	k := in.child
	k.recordEnd(in.blame)
	k.origin, k.ownFault = in.origin, in.held
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

// verdict decides what to do about a child that ended by itself.
func (s *state) verdict(now time.Time, k *childRecord) {
	switch r := k.child.Restart; {
	// ErrGiveUp does not cascade: a supervisor that gave up is handled by its restart type below.
	case s.backoff.isZero() && errors.Is(k.reason, ErrGiveUp) &&
		(k.child.Start.Type() == WorkerType || k.lost):
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

// restart restarts a child and its group, which depends on the strategy, if the intensity allows.
func (s *state) restart(now time.Time, k *childRecord, reason error) {
	if !s.backoff.isZero() {
		s.restartOrPause(now, k, reason)
		return
	}
	if !s.window.add(now) {
		err := &IntensityError{Path: s.path, Child: k.id, Intensity: s.intensity, Reason: reason}
		s.out = append(s.out, action{verb: doGiveUp, child: k, reason: err})
		s.retire(k)
		s.selfClose(now, ShutdownWith(err))
		return
	}
	if s.dropsCarried(now, k) {
		k.crashes = 0
		s.out = append(s.out, action{verb: doDropCarried, child: k, reason: reason})
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

// regroup plans to stop all children from first on, in reverse, and to start them again, in order.
// Children that have ended already are not stopped. Children that were terminated earlier are
// started too, as in OTP.
func (s *state) regroup(now time.Time, first, failed *childRecord) {
	for k := s.roster.last; k != first.prev; k = k.prev {
		s.plan = append(s.plan, step{child: k, stop: true})
	}
	for k := first; k != nil; k = k.next {
		s.plan = append(s.plan, step{child: k})
	}
	s.do(doShut, nil)
	s.advance(now)
}

// startFailed handles a start that ended before the child was ready.
func (s *state) startFailed(now time.Time, k *childRecord, reason error, parked bool) {
	s.disarm(k)
	k.parked = parked
	err := &StartError{Path: s.path + "/" + k.id, Reason: reason}
	switch {
	case s.mode == closing: // its turn to be stopped had not come
		s.makeIdle(k, false)
		s.answerStarter(k, ErrShutdown)
	case reason == Ignore:
		s.makeIdle(k, k.child.Restart == Temporary || s.strategy == SimpleOneForOne)
		s.answerStarter(k, nil)
	case s.mode == booting && s.backoff.AtStart:
		if k.failures == nil {
			k.failures = &failures{window: newWindow(s.intensity)}
		}
		s.pause(now, k, err)
		return
	case s.mode == booting:
		s.makeIdle(k, false)
		s.selfClose(now, ShutdownWith(err))
		return
	case k.starter != nil:
		s.makeIdle(k, k.isNew)
		s.answerStarter(k, err)
	default: // a restart: try again, after the requests that wait
		s.roster.move(k, dead)
		k.reason, k.retryQueued = reason, true
		s.do(doAgain, k)
		s.plan = nil
		s.planDone(now)
		return
	}
	s.stepped(now, k)
}
