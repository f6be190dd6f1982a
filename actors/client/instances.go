package client

import (
	"errors"
	"slices"
	"time"

	"mcpd/actors/client/internal/instances"
	"mcpd/actors/client/internal/interest"
	"mcpd/actors/request"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/supervisor/otp"
)

// Limits for the instances of a server, from package instances.
const (
	Patience      = instances.Patience
	InstanceRetry = instances.RetryAfter
	InstanceRest  = instances.Rest
)

// distribute hands calls that wait for their turn to idle instances, once the calls that they wait
// for have lasted long enough. If no instance is idle, another one is started.
//
// Calls that no instance can take are written beside a call whose user is being asked. The calls
// that were queued behind calls handed over may have their turn here.
func (c *Connection) distribute() {
	if c.handOut() {
		c.writeAdmitted()
	}
	c.writeBeside()
	c.refuseDelayed()
}

// handOut hands waiting calls to idle instances, and reports whether it handed over any.
func (c *Connection) handOut() (some bool) {
	for n := c.waits(); n >= 0; n = c.waits() {
		e := c.instances.Place(c.view(), c.oldestInFlight())
		if e.Do != instances.Hand {
			c.applyInstanceEffects([]instances.Effect[otp.Ref]{e})
			return some
		}
		if !c.hand(c.queue[n], e.To) {
			c.instances.Forget(e.To)
			continue
		}
		c.queue = slices.Delete(c.queue, n, n+1)
		some = true
	}
	return some
}

// applyInstanceEffects performs the effects of an event that concerns the other instances.
func (c *Connection) applyInstanceEffects(effects []instances.Effect[otp.Ref]) {
	for _, e := range effects {
		switch e.Do {
		case instances.Again:
			c.lookAgain(e.Wait)
		case instances.Start:
			otp.CallAsync(c.p, c.o.Catalog,
				StartInstanceRequest{
					Server: c.o.Server, Key: c.o.Key, Declare: c.toldCapabilities, Most: c.view().Most(),
				},
				func(i Instance, err error) any { return instanceStarted{i, err} })
		case instances.Retry:
			c.p.After(e.Wait, retryInstanceDue{})
		case instances.Adopt:
			_ = c.p.Send(e.To, adopt{c.p.Self(), e.Last})
		case instances.Watch:
			c.p.Monitor(e.To)
			c.followAll(e.To)
		case instances.Look:
			c.p.After(e.Wait, idleInstanceDue{e.To})
		case instances.End:
			_ = c.p.Send(c.o.Catalog,
				&Unused{Server: c.o.Server, Key: e.Key, From: e.To, Why: closedInstance})
		case instances.Turns:
			c.admitQueued()
		}
	}
}

// view returns what package instances needs to know of the server for a decision.
func (c *Connection) view() instances.Server {
	return instances.Server{
		Now: c.p.Now(), Program: c.program(), Bound: c.o.Instances,
		Asked: c.questions.Len() > 0, Retired: c.retired, Lingers: c.lingers(),
	}
}

// hand hands a call to an instance. It reports false if the instance is gone.
func (c *Connection) hand(x *request.Exchange, to otp.Ref) bool {
	call := &handed{
		Forward: &request.Forward{Exchange: x},
		level:   c.interest.Levels()[x.Session],
		user:    c.clients[x.Session].User,
		number:  c.instances.Next(to),
	}
	x.SetHolder(&request.Holder{Ref: to})
	if c.p.Send(to, call) != nil {
		x.SetHolder(c.self)
		return false
	}
	c.instances.Handed(to, x)
	return true
}

// handTool hands over a call of a tool that only another instance has, and reports whether it did.
func (c *Connection) handTool(x *request.Exchange) bool {
	if x.Method != "tools/call" || !c.instances.AnyOffers() {
		return false
	}
	name, _ := jsonedit.GetString(x.Params, "name")
	if c.tools()[name] {
		return false
	}
	to, ok := c.instances.FirstWithTool(name)
	return ok && c.hand(x, to)
}

// waits returns the index of the first queued call that another instance may take, if the queue
// waits for its turn here rather than for the server; -1 for none.
func (c *Connection) waits() int {
	if c.state != Ready || len(c.queue) == 0 || c.primary != (otp.Ref{}) || c.o.Instances <= 1 ||
		c.mayWrite(c.queue[0]) {
		return -1
	}
	return slices.IndexFunc(c.queue, func(x *request.Exchange) bool { return !x.NeedsConnection })
}

// program reports whether an instance is a process.
func (c *Connection) program() bool { return c.info().PID != 0 }

// oldestInFlight returns when the oldest call was written that the queued calls wait for.
func (c *Connection) oldestInFlight() time.Time {
	first := c.p.Now()
	for _, f := range c.calls.all() {
		if interactive(f.x.Method) && f.at.Before(first) {
			first = f.at
		}
	}
	return first
}

// lookAgain schedules another look at the waiting calls, unless one is scheduled already.
func (c *Connection) lookAgain(wait time.Duration) {
	if !c.admission.lookScheduled {
		c.admission.lookScheduled = true
		c.p.After(wait, lookAgainDue{})
	}
}

// joined starts to use another instance, or notes that none could be had.
func (c *Connection) joined(m instanceStarted) {
	if m.err == nil {
		m.err = c.p.Send(m.i.Ref, adopt{c.p.Self(), 0})
	}
	if m.err == nil {
		c.applyInstanceEffects(c.instances.Joined(c.view(), m.i.Ref, m.i.Key))
		return
	}
	c.applyInstanceEffects(c.instances.Denied())
	c.distribute()
}

// instanceDown handles the end of another instance or of the primary. It reports whether the
// process was one of them.
func (c *Connection) instanceDown(m otp.Down) bool {
	if m.Ref == c.primary && m.Ref != (otp.Ref{}) { // its next incarnation may not know of this one
		c.p.Monitor(m.Ref)
		c.reportIdle()
		return true
	}
	effects, known := c.instances.Down(m.Ref, otp.IsNormal(m.Reason) || !m.Ref.Alive())
	c.applyInstanceEffects(effects)
	if known && errors.Is(m.Reason, otp.ErrStuck) {
		c.stuckWith(request.Holder{Ref: m.Ref, Incarnation: m.Incarnation}, m.Reason)
	}
	return known
}

// stuckWith ends the calls that an instance held when it was replaced because it was stuck: its
// replacement knows nothing of them. A call that the instance had not looked at yet goes to the
// replacement.
func (c *Connection) stuckWith(held request.Holder, cause error) {
	for _, call := range c.instances.Calls(held.Ref) {
		x := call.Exchange
		if x.Holder() != held {
			continue
		}
		lost := protocol.UpstreamLost(c.o.Server, x.BeginEnd(), cause)
		complete(x, nil, lost.MarkRetryable(x.Method))
		c.applyInstanceEffects(c.instances.Vacant(c.view(), held.Ref, tenant.Key{}, call.Number))
	}
}

// amongInstances handles the messages between the instances of the server.
func (c *Connection) amongInstances(msg any) {
	switch m := msg.(type) {
	case *handed:
		c.takeHanded(m)
	case asking:
		c.asksNow(m)
	case yield:
		c.giveUp()
	case alsoFollow:
		c.stepInterest(interest.Event{Op: m.op, URI: m.uri, Session: m.row})
	case toolsChanged:
		c.instances.SetTools(m.ref, m.tools)
	case adopt:
		c.adopted(m)
	case instanceIdle:
		c.applyInstanceEffects(c.instances.Vacant(c.view(), m.Ref, m.Key, m.last))
	case lookAgainDue:
		c.admission.lookScheduled = false
		c.distribute()
	case retryInstanceDue:
		c.instances.Retried()
		c.distribute()
	case instanceStarted:
		c.joined(m)
	case idleInstanceDue:
		c.applyInstanceEffects(c.instances.Rested(c.view(), m.ref))
	}
}
