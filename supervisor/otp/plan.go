package otp

import "time"

// start starts a child, in its waiting process if there is one.
func (s *state) start(k *childRecord, restarted bool) {
	s.roster.move(k, going)
	k.restarted, k.origin = restarted, ""
	v := doSpawn
	if k.parked {
		v = doBegin
	}
	k.parked, k.leaving, k.retryQueued = false, false, false
	s.do(v, k)
	if k.child.Start.Type() == WorkerType {
		s.arm(k, k.child.StartTimeout)
	}
}

// stop tells a child to end. Its process ends too, unless the child will be restarted in place
// (keep).
func (s *state) stop(k *childRecord, keep bool) {
	s.roster.move(k, away)
	keep = keep && k.inPlace()
	k.leaving = !keep
	switch {
	case k.child.Shutdown == BrutalKill:
		k.leaving = true
		s.do(doKill, k)
		s.arm(k, killGrace)
		return
	case keep:
		s.do(doPark, k)
	default:
		s.do(doStop, k)
	}
	if k.child.Shutdown != Infinity && !(s.strategy == SimpleOneForOne && s.mode == closing) {
		s.arm(k, k.child.Shutdown)
	}
}

func (s *state) arm(k *childRecord, d time.Duration) {
	k.timer++
	s.out = append(s.out, action{verb: doArm, child: k, delay: d, timer: k.timer})
}

func (s *state) disarm(k *childRecord) {
	k.timer++
	s.do(doDisarm, k)
}

// timedOut handles a child that did not start or end in its time. Its process is isolated, and the
// supervisor continues without it. A child whose pause is over is started.
func (s *state) timedOut(now time.Time, in inTimeout) {
	if in.child == nil {
		if in.timer != s.timer || s.mode != closing {
			return
		}
		for k := s.roster.first; k != nil; {
			next := k.next
			if k.stage == away {
				s.abandon(now, k, false)
			}
			k = next
		}
		return
	}
	switch {
	case in.child.timer != in.timer:
	case in.child.stage == paused:
		s.resume(in.child)
	default:
		s.abandon(now, in.child, in.full)
	}
}

// abandon continues without a child. full says that too many are stuck to start it again.
func (s *state) abandon(now time.Time, k *childRecord, full bool) {
	switch k.stage {
	case going:
		a := action{verb: doAbandon, child: k, delay: k.child.StartTimeout}
		if k.restarted {
			a.reason = ErrStartTimeout
		}
		s.out = append(s.out, a)
		if full && k.restarted && s.mode == serving {
			s.disarm(k)
			if !s.backoff.isZero() {
				s.restartOrPause(now, k, tooMany(ErrStartTimeout))
				return
			}
			s.retire(k)
			s.selfClose(now, ShutdownWith(tooMany(ErrStartTimeout)))
			return
		}
		s.startFailed(now, k, ErrStartTimeout, false)
	case away:
		had := max(k.child.Shutdown, 0)
		if k.child.Shutdown == Infinity { // a supervisor that is stuck itself
			had = k.child.HardTimeout
		}
		s.out = append(s.out, action{verb: doAbandon, child: k, delay: had})
		k.parked = false
		s.gone(now, k, &AbandonedError{Path: s.path + "/" + k.id, Time: had})
	}
}

// gone handles the end of a child that was told to end. err is set if the child was abandoned.
func (s *state) gone(now time.Time, k *childRecord, err error) {
	s.disarm(k)
	s.answerStarter(k, ErrShutdown)
	enders := k.enders
	k.enders = nil
	temporary := k.child.Restart == Temporary
	switch {
	case s.mode == closing:
		s.makeIdle(k, false)
	case len(enders) > 0:
		s.makeIdle(k, temporary || s.strategy == SimpleOneForOne)
	case temporary: // it was stopped with its siblings and is not started again
		s.makeIdle(k, true)
	default:
		s.roster.move(k, idle)
	}
	for _, r := range enders {
		s.out = append(s.out, action{verb: doReply, child: k, reason: err, request: r})
	}
	if s.pending > 0 {
		if s.pending--; s.pending == 0 {
			s.planDone(now)
		}
		return
	}
	s.stepped(now, k)
}

// retire leaves a child that ended by itself stopped.
func (s *state) retire(k *childRecord) {
	s.makeIdle(k, k.child.Restart == Temporary || s.strategy == SimpleOneForOne)
}

// makeIdle makes a child idle: nothing runs for it any more. With remove, its row is deleted.
func (s *state) makeIdle(k *childRecord, remove bool) {
	switch {
	case k.parked:
		k.parked = false
		s.do(doReap, k)
	case k.stage != idle && !remove:
		s.do(doRest, k)
	}
	s.roster.move(k, idle)
	if remove {
		s.roster.remove(k)
		s.do(doDelete, k)
	}
}

// dropFirst returns the list without its first entry. The memory of the list keeps nothing of that
// entry, which may be all that still refers to a removed child.
func dropFirst[T any](list []T) []T {
	var none T
	list[0] = none
	return list[1:]
}

// stepped continues with the plan if the plan waits for k.
func (s *state) stepped(now time.Time, k *childRecord) {
	if len(s.plan) > 0 && s.plan[0].child == k {
		s.plan = dropFirst(s.plan)
		s.advance(now)
	}
}

// advance follows the plan up to the next step that takes time.
func (s *state) advance(now time.Time) {
	for ; len(s.plan) > 0; s.plan = dropFirst(s.plan) {
		k := s.plan[0].child
		if k.deleted {
			continue
		}
		if s.plan[0].stop {
			if s.stopStep(k) {
				return
			}
			continue
		}
		if k.stage == up {
			continue
		}
		if k.stage == idle || k.stage == dead {
			s.start(k, s.mode == serving && k.starter == nil)
		}
		return
	}
	s.planDone(now)
}

// stopStep does a step that stops a child. It reports whether the plan must wait for the child.
func (s *state) stopStep(k *childRecord) (wait bool) {
	switch k.stage {
	case going, up:
		s.stop(k, s.mode != closing)
		return true
	case away:
		return true
	case paused:
		s.disarm(k)
		s.makeIdle(k, false)
	case dead:
		k.retryQueued = false
		if s.mode == closing || k.child.Restart == Temporary {
			s.makeIdle(k, s.mode != closing)
		}
	case idle:
		if s.mode == closing && k.parked { // stopped by a group that was never started again
			s.makeIdle(k, false)
		}
	}
	return false
}

// planDone is called when no plan is left. It decides about the children that ended meanwhile; each
// decision may make a new plan.
func (s *state) planDone(now time.Time) {
	switch s.mode {
	case closing:
		s.mode = closed
		s.out = append(s.out, action{verb: doExit, reason: s.reason})
		return
	case booting:
		s.mode = serving
		s.do(doReady, nil)
	}
	for len(s.waiting) > 0 && len(s.plan) == 0 && s.mode == serving {
		k := s.waiting[0]
		s.waiting = dropFirst(s.waiting)
		if k.stage == dead && !k.retryQueued {
			s.verdict(now, k)
		}
	}
	if len(s.plan) == 0 && s.mode == serving && s.requestedStarts < s.maxRequestedStarts {
		s.do(doOpen, nil)
	}
}

// selfClose is close, by the supervisor's own decision.
func (s *state) selfClose(now time.Time, reason error) {
	s.out = append(s.out, action{verb: doClose, reason: reason})
	s.close(now, reason)
}

// close stops all children: in reverse, one after the other. Those of a pool stop all at once,
// because their order means nothing.
func (s *state) close(now time.Time, reason error) {
	if s.mode == closing || s.mode == closed {
		return
	}
	s.mode, s.reason, s.waiting, s.plan = closing, reason, nil, nil
	if s.strategy == SimpleOneForOne {
		s.closePool(now)
		return
	}
	for k := s.roster.last; k != nil; k = k.prev {
		s.plan = append(s.plan, step{child: k, stop: true})
	}
	s.advance(now)
}

func (s *state) closePool(now time.Time) {
	var budget Shutdown
	for k := s.roster.first; k != nil; k = k.next {
		if k.stage == going || k.stage == up {
			s.stop(k, false)
		} else if k.stage == dead {
			s.makeIdle(k, false)
		}
		if k.stage == away {
			s.pending++
			budget = k.child.Shutdown
		}
	}
	if s.pending == 0 {
		s.planDone(now)
		return
	}
	if budget > 0 { // oneChild timer for all; Infinity needs none, killed children have their own
		s.timer++
		s.out = append(s.out, action{verb: doArm, delay: budget, timer: s.timer})
	}
}
