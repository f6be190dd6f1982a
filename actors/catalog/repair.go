package catalog

import (
	"maps"
	"slices"
	"strings"
	"time"

	"mcpd/actors/client"
	"mcpd/actors/internal/mend"
	"mcpd/gateway/tenant"
	"mcpd/internal/order"
	"mcpd/supervisor/otp"
)

// repair makes what a crashed incarnation left sound again. A server that is dropped is entered
// anew from the configuration; its supervisor and its connections are found again when they are
// asked for, as they are rows of the tree.
func (k *kept) repair(now time.Time) []otp.Dropped {
	var lost mend.Losses
	mend.Map(&k.servers)
	if k.views == nil {
		k.views = &views{}
	}
	for name, s := range order.Of(k.servers) {
		switch {
		case lost.If(s == nil, "server", "missing"):
			delete(k.servers, name)
		case s.config.Name != name:
			delete(k.servers, name)
			if k.servers[s.config.Name] != s {
				s.refuseAll(&lost)
			}
			lost.Drop("server", "of another name", nil)
		default:
			s.repair(&lost, now)
			k.revisions = max(k.revisions, s.revision)
		}
	}
	k.waiting = slices.DeleteFunc(k.waiting, func(w *waiter) bool {
		if lost.If(w == nil || w.call == nil, "list", "asked by nobody") {
			return true
		}
		if last := now.Add(w.call.Req.Wait); w.deadline.After(last) {
			w.deadline = last
		}
		return false
	})
	return lost
}

func (s *server) repair(lost *mend.Losses, now time.Time) {
	mend.Map(&s.causes)
	mend.Map(&s.pauses)
	mend.Map(&s.conns)
	mend.Map(&s.lists)
	mend.Map(&s.opening)
	mend.Map(&s.retiring)
	mend.Map(&s.left)
	mend.Map(&s.instead)
	if lost.If(!s.sup.IsZero() && !holds(s.sup, s.config.Name), "supervisor", "of another") {
		s.sup = otp.Ref{}
	}
	if s.state == "" {
		s.state = client.Idle
	}
	maps.DeleteFunc(s.conns, func(key tenant.Key, c *conn) bool {
		if lost.If(c == nil || !holds(c.sup, key.String()), "connection", "of another") {
			return true
		}
		c.ref = c.sup.Child(client.Row)
		c.arriving = slices.DeleteFunc(c.arriving, func(session *client.AttachRequest) bool {
			return lost.If(session == nil || session.Ref.IsZero(), "session", "without an actor")
		})
		return lost.If(c.ref.IsZero(), "connection", "has no row")
	})
	if lost.If(s.whole != nil && !s.whole.sound(now), "pause", "without bounds") {
		s.whole = nil
	}
	maps.DeleteFunc(s.pauses, func(_ tenant.Key, p *pause) bool {
		return lost.If(p == nil || !p.sound(now), "pause", "without bounds")
	})
	maps.DeleteFunc(
		s.causes,
		func(_ tenant.Key, e *client.Ending) bool { return lost.If(e == nil, "cause", "missing") },
	)
	maps.DeleteFunc(
		s.lists,
		func(_ tenant.Key, l *listing) bool { return lost.If(l == nil, "list", "missing") },
	)
	maps.DeleteFunc(
		s.left,
		func(_ tenant.Key, l *client.Left) bool { return lost.If(l == nil, "subscriptions", "missing") },
	)
	maps.DeleteFunc(
		s.opening,
		func(_ tenant.Key, waiting []pending) bool { return lost.If(len(waiting) == 0, "start", "for nobody") },
	)
}

// holds reports whether a reference is that of the row with this id.
func holds(ref otp.Ref, id string) bool { return strings.HasSuffix(ref.Path(), "/"+id) }

// sound reports whether a pause is one that grow could have made.
func (p *pause) sound(now time.Time) bool {
	if p.why == nil || p.times < 0 {
		return false
	}
	return p.operator || p.gap >= 0 && p.gap <= LastProbe && !p.until.After(now.Add(LastProbe))
}

// refuseAll drops everyone who waits for a connection to the server.
func (s *server) refuseAll(lost *mend.Losses) {
	for _, waiting := range order.By(s.opening, tenant.Key.Compare) {
		for _, w := range waiting {
			lost.Drop("start", "of a server that was dropped", w)
		}
	}
}

// Fail answers who waits for a connection that there will not be.
func (w pending) Fail(err error) { w.reply(otp.Ref{}, err) }
