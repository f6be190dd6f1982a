package process

import (
	"maps"

	"mcpd/actors/internal/mend"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// repair makes what a crashed incarnation left sound again. A program of which it is not known for whom it runs is ended: nobody else would.
func (k *kept) repair() []otp.Dropped {
	mend.Map(&k.children)
	mend.Map(&k.starts)
	mend.Map(&k.releases)
	var lost mend.Losses
	maps.DeleteFunc(k.children, func(key *stdio.Child, c *child) bool {
		switch {
		case lost.If(key == nil, "program", "missing"):
			return true
		case c == nil || c.Child != key || c.owner.IsZero():
			lost.Drop("program", "of nobody", stray{k.last, key})
			return true
		}
		c.info.PID, c.info.Owner = key.Pid(), c.owner.Path()
		return false
	})
	maps.DeleteFunc(k.starts, func(s *starting, _ bool) bool {
		switch {
		case lost.If(s == nil || s.done == nil, "start", "missing"):
			return true
		case s.call != nil && !s.call.Req.Owner.IsZero():
			return false
		case s.call != nil:
			lost.Drop("start", "for nobody", s.call)
		}
		if s.running() {
			lost.Drop("program", "of nobody", stray{k.last, s.child})
		}
		return true
	})
	maps.DeleteFunc(k.releases, func(up transport.Upstream, _ closing) bool { return lost.If(up == nil, "release", "of nothing") })
	return lost
}

// stray is a program that nobody uses.
type stray struct {
	last  *Last
	child *stdio.Child
}

// Fail ends it.
func (s stray) Fail(error) { s.last.end(s.child.Stop) }
