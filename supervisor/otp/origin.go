package otp

// Attributed is a message that somebody outside the tree has caused. Origin says who, "" for nobody
// in particular. If the supervisor has a Backoff, a crash on the message is charged to that origin
// and not to the worker.
type Attributed interface{ Origin() string }

// originOf returns the origin of a message, "" when it has none. For an envelope it is known before
// the envelope is opened. The origin of a Down is the one that the row belongs to, by
// Options.Origin.
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

// owner returns the origin that a row belongs to, "" for none.
func (s *System) owner(ref Ref) string {
	if s.origin == nil {
		return ""
	}
	return s.origin(ref.Path())
}

// OnBehalf runs f, which is one origin's part of Init or of a message that concerns several
// origins. A crash in f is charged to that origin. While the row takes no message of the origin,
// OnBehalf returns false and does not run f: the origin has crashed the row MaxChargedCrashes times
// in a row, or has made it hang.
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

// Origin returns the origin of the request.
func (c *Call[Req, Resp]) Origin() string {
	if a, ok := any(&c.Req).(Attributed); ok {
		return a.Origin()
	}
	return ""
}
