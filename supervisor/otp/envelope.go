package otp

// lazyMessage is content of an envelope whose message is determined only just before it is handled.
// By then the envelope can be void, because nobody waits for the message any more.
type lazyMessage interface {
	// open returns the message, or false when it is void.
	open() (msg any, ok bool)
}

// envelope is a message that only one incarnation may handle.
type envelope struct {
	p   *Process
	msg any
}

// Class makes a message that a process posts to itself reserved if its content is. A
// BestEffort content counts as Ordinary, because what a process posts to itself is never shed.
func (p *envelope) Class() Class {
	if classOf(p.msg) == Reserved {
		return Reserved
	}
	return Ordinary
}

// reply is the answer to a CallAsync. Its message is computed on the goroutine of the caller.
type reply[Resp any] struct {
	answer[Resp]
	wrap func(Resp, error) any
	call Attributed // nil when no call was sent
	to   Ref
}

func (r *reply[Resp]) open() (any, bool) { return r.wrap(r.resp, r.err), true }

// of returns the origin of the call. Without one, it returns the origin that the row which answered
// belongs to.
func (r *reply[Resp]) of(s *System) string {
	if r.call != nil {
		if origin := r.call.Origin(); origin != "" {
			return origin
		}
	}
	return s.owner(r.to)
}

// deliver puts an envelope or a plain message into the worker's own mailbox, for this incarnation,
// however full the mailbox is.
func (p *Process) deliver(msg any) { p.guard.mailbox.push(&envelope{p, msg}) }

// unpack returns the message that the incarnation should handle, and false if there is none.
func (p *Process) unpack(msg any) (any, bool) {
	if pc, ok := msg.(*envelope); ok {
		if pc.p != p {
			return nil, false
		}
		msg = pc.msg
		if e, ok := msg.(lazyMessage); ok {
			return e.open()
		}
	}
	return msg, true
}

// fail tells a message that it will not be handled.
func (s *System) fail(path string, msg any, reason error) {
	if pc, ok := msg.(*envelope); ok {
		msg = pc.msg
	}
	if f, ok := msg.(Failer); ok {
		s.safely(path, "Fail", func() { f.Fail(reason) })
	}
}
