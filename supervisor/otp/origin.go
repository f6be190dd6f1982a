package otp

// Attributed is a message that somebody outside the tree has caused. Origin names who: a crash on
// the message is charged to that origin and not to the worker, where the supervisor has a Backoff.
// An empty origin is nobody in particular.
type Attributed interface{ Origin() string }

// originOf is the origin of a message, "" when it has none. What is in an envelope is known before it
// is opened. A Down comes from whoever the system's options say that the row belongs to.
func (s *System) originOf(msg any) string {
	switch m := msg.(type) {
	case Attributed:
		return m.Origin()
	case Down:
		return s.owner(m.Ref)
	case *monitor:
		return s.owner(m.ref)
	case *timer:
		return s.originOf(m.msg)
	case interface{ of(*System) string }:
		return m.of(s)
	}
	return ""
}

// owner is whose row it is, "" for nobody's in particular.
func (s *System) owner(ref Ref) string {
	if s.origin == nil {
		return ""
	}
	return s.origin(ref.Path())
}

// OnBehalf runs f, which is one origin's part of a message that concerns several, or of Init: a crash
// in f is charged to that origin. It reports false, and does not run f, while the row takes no message
// of the origin, because each of many has crashed it (MaxCharged) or one has made it hang.
func (p *Process) OnBehalf(origin string, f func()) bool {
	g := p.guard
	if _, held := g.row.held(origin); held {
		return false
	}
	before := g.behalf.Load()
	g.behalf.Store(&origin) // a panic leaves it there, for the report
	f()
	g.behalf.Store(before)
	return true
}

// Origin is that of the request.
func (c *Call[Req, Resp]) Origin() string {
	if a, ok := any(&c.Req).(Attributed); ok {
		return a.Origin()
	}
	return ""
}
