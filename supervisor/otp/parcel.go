package otp

// An envelope is what a process sends itself by way of others: it is opened just before it would be handled, and then
// it may turn out that nobody waits for it any more.
type envelope interface {
	// open yields the message, or false when it is void.
	open() (msg any, ok bool)
}

// parcel is a message for one incarnation.
type parcel struct {
	p   *Process
	msg any
}

// Class lets what a process posts to itself be owed. What it posts is never shed: it is Ordinary otherwise.
func (p *parcel) Class() Class {
	if classOf(p.msg) == Owed {
		return Owed
	}
	return Ordinary
}

// reply is the answer to a CallAsync; what it becomes is computed as part of the one who asked.
type reply[Resp any] struct {
	answer[Resp]
	wrap func(Resp, error) any
	call Attributed // nil when none was sent
	to   Ref
}

func (r *reply[Resp]) open() (any, bool) { return r.wrap(r.resp, r.err), true }

// of is the origin of the call, or else whoever the row belongs to that has answered.
func (r *reply[Resp]) of(s *System) string {
	if r.call != nil {
		if origin := r.call.Origin(); origin != "" {
			return origin
		}
	}
	return s.owner(r.to)
}

// deliver puts an envelope or a plain message into the worker's own mailbox, for this incarnation, whatever is waiting
// there already.
func (p *Process) deliver(msg any) { p.guard.box.push(&parcel{p, msg}) }

// unpack returns what the incarnation should handle, if anything.
func (p *Process) unpack(msg any) (any, bool) {
	if pc, ok := msg.(*parcel); ok {
		if pc.p != p {
			return nil, false
		}
		msg = pc.msg
		if e, ok := msg.(envelope); ok {
			return e.open()
		}
	}
	return msg, true
}

// fail tells a message that it will not be handled.
func (s *System) fail(path string, msg any, reason error) {
	if pc, ok := msg.(*parcel); ok {
		msg = pc.msg
	}
	if f, ok := msg.(Failer); ok {
		s.guarded(path, "Fail", func() { f.Fail(reason) })
	}
}
