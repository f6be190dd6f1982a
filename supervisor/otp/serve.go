package otp

import "errors"

// request handles a request to the supervisor. Requests that take time are answered later, with
// doReply.
func (v *supervisor) request(msg any) {
	switch c := msg.(type) {
	case *Call[startChild, Ref]:
		v.startChild(c)
	case *Call[startArgs, Ref]:
		v.startArgs(c)
	case *Call[terminateChild, struct{}]:
		v.step(inTerminate{c.Req.id, func(_ Ref, err error) { finish(c, struct{}{}, err) }})
	case *Call[restartChild, Ref]:
		v.step(inRestart{c.Req.id, func(r Ref, err error) { finish(c, r, err) }, v.full()})
	case *Call[deleteChild, struct{}]:
		v.step(inDelete{c.Req.id, func(_ Ref, err error) { finish(c, struct{}{}, err) }})
	case *Call[whichChildren, []ChildInfo]:
		c.Reply(v.which())
	case *Call[countChildren, Counts]:
		c.Reply(v.count())
	default:
		v.guard.sys.fail(v.guard.row.path, msg, ErrUnhandled)
	}
}

func finish[Req, Resp any](c *Call[Req, Resp], resp Resp, err error) {
	if err != nil {
		c.Fail(err)
		return
	}
	c.Reply(resp)
}

// answer performs doReply.
func (v *supervisor) answer(a action) {
	var ref Ref
	if a.child != nil && a.reason == nil && !a.child.deleted {
		ref = Ref{a.child.driver.row}
	}
	if already, ok := a.reason.(ErrAlreadyStarted); ok {
		already.Args = already.Ref.row.arguments()
		a.reason = already
	}
	a.request.(func(Ref, error))(ref, a.reason)
}

func (v *supervisor) startChild(c *Call[startChild, Ref]) {
	child := c.Req.child
	if v.template != nil {
		c.Fail(ErrSimpleOneForOne)
		return
	}
	like := Spec{Strategy: v.state.strategy, AutoShutdown: v.state.auto}
	if errs := checkChild(v.guard.row.path+"/"+child.ID, like, child); len(errs) > 0 {
		c.Fail(errors.Join(errs...))
		return
	}
	child = child.resolved()
	v.startNew(child.ID, &child, nil, func(r Ref, err error) { finish(c, r, err) })
}

func (v *supervisor) startArgs(c *Call[startArgs, Ref]) {
	if v.template == nil {
		c.Fail(ErrNotSimple)
		return
	}
	id := c.Req.id
	if reason := badID(id); reason != "" {
		c.Fail(&SpecError{v.guard.row.path + "/" + id, "id", reason})
		return
	}
	v.startNew(id, v.template, c.Req.args, func(r Ref, err error) { finish(c, r, err) })
}

func (v *supervisor) startNew(id string, c *Child, args any, answer func(Ref, error)) {
	k := &childRecord{id: id, child: c}
	k.driver.row = newRow(v.guard.sys, v.guard.row, v, id, c, args)
	v.step(inStart{k, answer, v.full()})
}

// full reports whether so many processes below this supervisor are stuck that it starts no new
// child. Stuck processes elsewhere, or in a failure domain below, do not count.
func (v *supervisor) full() bool { return v.guard.row.domainIsolated.Load() >= MaxIsolated }

func (v *supervisor) which() []ChildInfo {
	out := make([]ChildInfo, 0, len(v.state.roster.byID))
	for k := v.state.roster.first; k != nil; k = k.next {
		r := k.driver.row
		out = append(out, ChildInfo{k.id, Ref{r}, k.child.Start.Type(), Status(r.status.Load())})
	}
	return out
}

func (v *supervisor) count() Counts {
	var n Counts
	for k := v.state.roster.first; k != nil; k = k.next {
		n.Specs++
		if k.stage == up || k.stage == away {
			n.Active++
		}
		if k.child.Start.Type() == SupervisorType {
			n.Supervisors++
		} else {
			n.Workers++
		}
	}
	if v.template != nil {
		n.Specs = 1
	}
	return n
}
