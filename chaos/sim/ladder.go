package sim

import (
	"context"
	"errors"
	"strings"
	"time"

	"mcpd/actors/tenancy"
	"mcpd/gateway/ladder"
	"mcpd/internal/fault"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/supervisor/otp"
)

// targetRow is the path of the target's row. poisoned is the path of the row that the target's
// messages crash.
const (
	targetRow = "mcpd/tenants/" + target
	poisoned  = targetRow + "/request_manager"
)

// expectedState computes the expected state of the target from events of the tree, independently of
// package ladder, which decides it: when the target may start again, and when it has to.
type expectedState struct {
	ends    int // in a row
	all     int // in all
	gap     time.Duration
	downAt  time.Time // zero while it runs
	upAt    time.Time // of the last start
	probing bool
	put     bool // quarantined by an operator
	// exact says that no other fault of the run affects the target, so that its pauses are known to
	// the second.
	exact bool
}

// restartSlack is how much later than the end of its pause a start may be: the manager checks once
// a second.
const restartSlack = 3 * time.Second

// ended counts an end of the tenant by itself.
func (d *expectedState) ended(now time.Time) {
	if now.Sub(d.upAt) >= ladder.Stable {
		d.ends, d.gap, d.probing = 0, 0, false
	}
	d.ends++
	d.all++
	first, last := ladder.FirstPause, ladder.LastPause
	if d.ends >= ladder.MaxEnds {
		if first, last = ladder.FirstProbe, ladder.LastProbe; !d.probing {
			d.gap = 0
		}
	}
	d.gap, d.downAt, d.probing = min(max(2*d.gap, first), last), now, false
}

// wait returns how long the tenant may stay down after now. It is negative if the start is overdue.
// If other faults affect the tenant, the longest pause is allowed.
func (d *expectedState) wait(now time.Time) time.Duration {
	if d.exact {
		return d.downAt.Add(d.gap + restartSlack).Sub(now)
	}
	return d.downAt.Add(ladder.LastProbe + restartSlack).Sub(now)
}

// follow handles events about starts and ends of the target.
func (s *simulation) follow(e otp.Event) {
	d := &s.descent
	switch e := e.(type) {
	case otp.ChildStarted:
		if e.Path != targetRow {
			return
		}
		if early := d.gap - s.w.now.Sub(d.downAt) - maxEarly; d.exact && !d.downAt.IsZero() && early > 0 {
			s.find("ladder", "%s is started %v before its pause of %v is over", target, early, d.gap)
		}
		if d.probing = d.ends >= ladder.MaxEnds; d.probing {
			s.result.Probes++
		}
		d.downAt, d.upAt = time.Time{}, s.w.now
	case otp.ChildExited:
		if e.Path != targetRow {
			return
		}
		if gaveUp := new(otp.ShutdownError); errors.As(e.Reason, &gaveUp) {
			d.ended(s.w.now)
			s.result.Ends++
		}
		d.downAt = s.w.now
	}
}

// poison crashes the handler of the target's requests at each message, until the target has ended
// as often as the plan says.
func (s *simulation) poison(path, kind string) bool {
	if path != poisoned || s.descent.all >= s.plan.ends || system(kind) {
		return false
	}
	s.noteFault("poison", path)
	f := fault.Fault{
		Action: fault.Panic, Point: fault.Point{Place: fault.Receive, Path: path}, Count: 1,
		Lease: time.Second,
	}
	if _, err := s.faults.Arm(f); err != nil {
		s.find("simulation", "a fault cannot be armed: %v", err)
	}
	s.struck++
	return true
}

// knock connects to the target again and again, as often as the poison needs it, until the target
// serves.
func (s *simulation) knock() {
	for n := 0; ; n++ {
		c := newVisitor(s, target, 1000+n)
		c.modern = false
		down := s.descent.downAt
		opened := c.open()
		switch {
		case opened:
			served := len(c.ask(c.begin("tools/list", "", ""), `{}`)) > 0
			c.leave()
			if served && s.descent.all >= s.plan.ends {
				return
			}
		case !down.IsZero() && down == s.descent.downAt:
			s.refused(c)
		}
		d := &s.descent
		if !d.downAt.IsZero() && !d.put && d.wait(s.w.now) < 0 {
			s.find("ladder", "%s is down for %v after %d ends, and is not started again", target,
				s.w.now.Sub(d.downAt), d.ends)
			return
		}
		if wait := 2 * time.Second; d.downAt.IsZero() {
			s.pause(wait) // often enough to exceed a restart budget of 5 in 30 s
		} else {
			s.pause(max(wait, min(d.gap/4, 20*time.Second)))
		}
	}
}

// refused checks the error that a client of a tenant that is down has got.
func (s *simulation) refused(c *simClient) {
	k := c.calls[0]
	var told *protocol.Error
	if !errors.As(k.refused, &told) {
		s.find("ladder", "a client of %s, which is down, is told %v %v", target, k.refused,
			k.outcome.Error)
		return
	}
	if d := &s.descent; strings.HasSuffix(told.Message, " is being started") &&
		(!d.exact || d.wait(s.w.now) <= restartSlack) {
		return // its pause is over
	}
	incident, _ := jsonedit.GetString(told.Data, "incident")
	if told.Condition != protocol.ConditionOverloaded || incident == "" || told.RetryAfter <= 0 {
		s.find("ladder", "a client of %s, which is down, is told %v, incident %q, to come back in %v",
			target, told, incident, told.RetryAfter)
	}
}

// operate has an operator quarantine the target and release it.
func (s *simulation) operate() {
	for range s.plan.operates {
		s.pause(20 * time.Second)
		s.operates(ladder.Quarantine)
		s.pause(2 * time.Minute)
		s.operates(ladder.Release)
	}
}

// operateTime is how long an operator waits for an answer, as the admin listener does.
const operateTime = 5 * time.Second

// operates applies one command to the target. If the command is lost with the manager, the operator
// asks again.
func (s *simulation) operates(verb ladder.Verb) {
	s.noteFault(string(verb), targetRow)
	for try := range 20 {
		manager, _ := s.host.Whereis("mcpd/core/tenant_manager")
		ctx, cancel := context.WithCancel(context.Background())
		over := s.w.AfterFunc(operateTime, cancel)
		got, err := otp.Do[tenancy.OperateRequest, ladder.Standing](ctx, manager, tenancy.OperateRequest{
			Tenant: target, Verb: verb,
		})
		over.Stop()
		cancel()
		if err == nil {
			if got.Runs() != (verb != ladder.Quarantine) && s.descent.exact {
				s.find("ladder", "%s of %s leaves it %s", verb, target, got.State)
			}
			break
		}
		if try == 19 {
			s.find("ladder", "%s of %s: %v, tried %d times", verb, target, err, try+1)
		}
		s.pause(2 * time.Second)
	}
	if s.descent.put = verb == ladder.Quarantine; !s.descent.put {
		s.descent.ends, s.descent.gap, s.descent.probing = 0, 0, false
		return
	}
	over := s.w.now.Add(stopTime) // the operator's answer does not wait for the end of the tenant
	s.w.AfterFunc(stopTime, func() {})
	s.w.Wait(func() bool { return !s.descent.downAt.IsZero() || !s.w.now.Before(over) })
	if s.descent.downAt.IsZero() {
		s.find("ladder", "%s is quarantined, and runs", target)
	}
}

// stopTime is how long a tenant may take to stop. It is longer than the stop times of its rows
// together.
const stopTime = 2 * time.Minute

// serving waits until the target runs again, for as long as the ladder allows.
func (s *simulation) serving() {
	over := s.w.now.Add(ladder.LastProbe + settling)
	s.w.AfterFunc(ladder.LastProbe+settling, func() {})
	s.w.Wait(func() bool { return s.descent.downAt.IsZero() || s.w.now.After(over) })
	if d := &s.descent; !d.downAt.IsZero() {
		s.find("ladder", "%s is down for %v after %d ends, and is not started again", target,
			s.w.now.Sub(d.downAt), d.ends)
	}
}
