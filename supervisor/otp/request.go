package otp

import (
	"fmt"
	"time"
)

// answerStarter answers the request that waits for the start of k, if there is one.
func (s *state) answerStarter(k *childRecord, err error) {
	if k.starter == nil {
		return
	}
	s.out = append(s.out, action{verb: doReply, child: k, reason: err, request: k.starter})
	k.starter, k.isNew = nil, false
	if s.requestedStarts--; s.requestedStarts == s.maxRequestedStarts-1 && s.mode == serving &&
		len(s.plan) == 0 {
		s.do(doOpen, nil)
	}
}

func (s *state) reply(request any, k *childRecord, err error) {
	s.out = append(s.out, action{verb: doReply, child: k, reason: err, request: request})
}

// startChild appends a child and starts it.
func (s *state) startChild(now time.Time, in inStart) {
	if old := s.roster.byID[in.child.id]; old != nil {
		err := ErrAlreadyPresent
		if old.stage != idle && old.stage != paused {
			err = ErrAlreadyStarted{Ref: Ref{old.driver.row}} // answer adds the args
		}
		s.reply(in.request, old, err)
		return
	}
	if in.full {
		s.reply(in.request, nil, s.refused(in.child))
		return
	}
	in.child.isNew = true
	s.roster.add(in.child)
	s.do(doAdd, in.child)
	s.startFor(now, in.child, in.request)
}

// refused makes the error for a new child that is not started, because too many other children of
// this supervisor are stuck. Each new child could be one more.
func (s *state) refused(k *childRecord) error {
	return &StartError{
		Path: s.path + "/" + k.id, Reason: fmt.Errorf("%d do not come back: %w", MaxIsolated, ErrStuck),
	}
}

// startFor starts a child for a request. For one_for_all and rest_for_one, the supervisor waits for
// it, so that a group is never restarted around a child that is half started. Otherwise many
// children may start at once, up to a bound; further requests wait.
func (s *state) startFor(now time.Time, k *childRecord, request any) {
	k.starter = request
	s.requestedStarts++
	if s.strategy == OneForAll || s.strategy == RestForOne {
		s.plan = append(s.plan, step{child: k})
		s.do(doShut, nil)
		s.advance(now)
		return
	}
	s.start(k, false)
	if s.requestedStarts >= s.maxRequestedStarts {
		s.do(doShut, nil)
	}
}

// terminateChild ends a child for a request.
func (s *state) terminateChild(in inTerminate) {
	k := s.roster.byID[in.id]
	if k == nil {
		s.reply(in.request, nil, ErrNotFound)
		return
	}
	switch k.stage {
	case going, up:
		k.enders = append(k.enders, in.request)
		s.stop(k, false)
	case away:
		k.enders = append(k.enders, in.request)
	default:
		if k.stage == paused {
			s.disarm(k)
		}
		if k.retryQueued {
			k.retryQueued = false
			s.stopGroup(k)
		}
		s.makeIdle(k, k.child.Restart == Temporary || s.strategy == SimpleOneForOne)
		s.reply(in.request, k, nil)
	}
}

// stopGroup leaves a group stopped that was to be started again because first ended.
func (s *state) stopGroup(first *childRecord) {
	if s.strategy != OneForAll && s.strategy != RestForOne {
		return
	}
	for k := s.roster.first; k != nil; k = k.next {
		switch {
		// A dead child has ended by itself. Its end began the restart of the group.
		case k.stage == idle && k.parked, k.stage == dead && !k.retryQueued && k != first:
			s.makeIdle(k, false)
		case k.stage == idle:
			s.do(doRest, k)
		}
	}
}

// restartChild starts a child that is stopped, for a request.
func (s *state) restartChild(now time.Time, in inRestart) {
	k := s.roster.byID[in.id]
	switch {
	case s.strategy == SimpleOneForOne:
		s.reply(in.request, nil, ErrSimpleOneForOne)
	case k == nil:
		s.reply(in.request, nil, ErrNotFound)
	case k.stage == dead, k.stage == going && k.restarted:
		s.reply(in.request, k, ErrRestarting)
	case k.stage != idle && k.stage != paused:
		s.reply(in.request, k, ErrRunning)
	case in.full:
		s.reply(in.request, nil, s.refused(k))
	default:
		if k.stage == paused {
			s.disarm(k)
		}
		s.startFor(now, k, in.request)
	}
}

// deleteChild removes the row of a stopped child, for a request.
func (s *state) deleteChild(in inDelete) {
	k := s.roster.byID[in.id]
	switch {
	case s.strategy == SimpleOneForOne:
		s.reply(in.request, nil, ErrSimpleOneForOne)
	case k == nil:
		s.reply(in.request, nil, ErrNotFound)
	case k.stage == dead, k.stage == paused, k.stage == going && k.restarted:
		s.reply(in.request, k, ErrRestarting)
	case k.stage != idle:
		s.reply(in.request, k, ErrRunning)
	default:
		s.makeIdle(k, true)
		s.reply(in.request, k, nil)
	}
}
