package client

import (
	"errors"
	"slices"
	"time"

	"mcpd/actors/client/internal/questions"
	"mcpd/actors/request"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// instance is another connection to a server of its own.
type instance struct {
	Instance
	busy bool              // it has calls
	idle time.Time         // since when it has none
	has  []*handed         // the calls that it was handed, while it is busy, without most that have ended
	last uint64            // how many it was handed
	asks *questions.Dialog // what it is asking a user; nil for nothing
	// tools are what it listed after it had said that its tools have changed.
	tools map[string]bool
}

// Another asks the catalogue for one more instance of a connection's server. A connection makes
// this call. The answer may come before the instance is ready: it keeps what it is handed until
// then.
type Another = otp.Call[AnotherRequest, Instance]

// AnotherRequest says which connection wants another instance, and what its clients can be asked.
// Most bounds the instances there are, the connection among them.
type AnotherRequest struct {
	Server  string
	Key     tenant.Key
	Declare protocol.ClientCapabilities
	Most    int
}

// Instance is a connection of the same key but for its number.
type Instance struct {
	Ref otp.Ref
	Key tenant.Key
}

// Messages between the instances of a server. Classes: handed is ordinary; adopt, vacant and
// offers are owed, one for each instance, one for each call and one for each list that was fetched.
type (
	// adopt says who hands an instance its calls, and how many that were so far.
	adopt struct {
		by   otp.Ref
		last uint64
	}
	// handed is a call, the log level that its session asked for and on whose behalf that is, and
	// its number among those that the instance was handed.
	handed struct {
		*request.Forward
		level  string
		user   User
		number uint64
	}
	// vacant says that an instance has no calls, the last that it was handed included. It is old
	// news if there was another since.
	vacant struct {
		Instance
		last uint64
	}
)

// offers is what tools an instance has, once it has said that they have changed.
type offers struct {
	ref   otp.Ref
	tools map[string]bool
}

func (offers) Class() otp.Class { return otp.Owed }
func (adopt) Class() otp.Class  { return otp.Owed }
func (vacant) Class() otp.Class { return otp.Owed }

// joined takes another instance into use.
func (c *Connection) joined(m another) {
	if m.err == nil {
		m.err = c.p.Send(m.i.Ref, adopt{c.p.Self(), 0})
	}
	if m.err != nil {
		c.p.After(InstanceRetry, regrow{})
		c.denied = true
		c.spread()
		return
	}
	c.growing = false
	c.p.Monitor(m.i.Ref)
	c.instances = append(c.instances, &instance{Instance: m.i})
	c.followAll(m.i.Ref)
	c.vacated(m.i)
}

// vacated hears that an instance has nothing to do. When that lasts, it is ended. One that nobody
// knows any more was handed its calls by an incarnation that hung.
func (c *Connection) vacated(v Instance) {
	ref := v.Ref
	i := c.instance(ref)
	if i == nil {
		_ = c.p.Send(c.o.Catalog, &Unused{Server: c.o.Server, Key: v.Key, From: ref, Why: closedInstance})
		return
	}
	i.busy, i.idle, i.has = false, c.p.Now(), nil
	c.p.After(c.instanceRests(i), rested{ref})
	c.takeTurns()
}

// InstanceRest is how long another instance of a server is kept that has nothing to do: calls come
// in bursts, and to start a program takes longer than most of them.
const InstanceRest = 10 * time.Second

// instanceRests is how long this one is kept. One that has changed its tools is kept as long as a
// connection without sessions: no other instance may have those tools.
func (c *Connection) instanceRests(i *instance) time.Duration {
	switch {
	case c.retired:
		return RetirePause
	case len(i.tools) > 0:
		return max(InstanceRest, c.lingers())
	}
	return InstanceRest
}

// rested ends an instance that had nothing to do for InstanceRest. While a user is being asked, calls
// may have to go elsewhere at any time, so the instance stays and is looked at again. An ended
// instance is not handed anything from here on.
func (c *Connection) rested(ref otp.Ref) {
	i := c.instance(ref)
	if i == nil || i.busy || c.p.Now().Sub(i.idle) < c.instanceRests(i) {
		return
	}
	if c.questions.Len() > 0 && !c.retired {
		c.p.After(InstanceRest, rested{ref})
		return
	}
	c.instances = slices.DeleteFunc(c.instances, func(i *instance) bool { return i.Ref == ref })
	_ = c.p.Send(c.o.Catalog, &Unused{Server: c.o.Server, Key: i.Key, From: ref, Why: closedInstance})
}

// instanceDown hears that an instance has ended, and reports whether it was one. One that crashed
// is on its way back, and so is one that was stuck, which knows nothing any more: the call that it
// had in hand ends here, one that it had not looked at is its successor's.
func (c *Connection) instanceDown(m otp.Down) bool {
	i := c.instance(m.Ref)
	switch {
	case m.Ref == c.primary && m.Ref != (otp.Ref{}): // its next incarnation may not know of this one
		c.p.Monitor(m.Ref)
		c.vacate()
	case i == nil:
		return false
	case otp.IsNormal(m.Reason) || !m.Ref.Alive():
		c.instances = slices.DeleteFunc(
			c.instances,
			func(i *instance) bool { return i.Ref == m.Ref },
		)
		c.takeTurns()
	default:
		c.p.Monitor(m.Ref)
		i.asks = nil
		// it may have ended of the call that it was handed last, and know nothing of it
		_ = c.p.Send(m.Ref, adopt{c.p.Self(), i.last})
		c.followAll(m.Ref)
		if errors.Is(m.Reason, otp.ErrStuck) {
			c.stuckWith(i, request.Hold{Ref: m.Ref, Incarnation: m.Incarnation}, m.Reason)
		}
	}
	return true
}

// stuckWith ends the calls that an instance had in hand when it was replaced because it was stuck.
func (c *Connection) stuckWith(i *instance, held request.Hold, why error) {
	for _, h := range i.has {
		x := h.Exchange
		if x.Held() != held {
			continue
		}
		lost := protocol.UpstreamLost(c.o.Server, x.Over(), why)
		complete(x, nil, lost.Repeating(x.Method))
		if h.number == i.last {
			c.vacated(i.Instance)
		}
	}
}

func (c *Connection) instance(ref otp.Ref) *instance {
	for _, i := range c.instances {
		if i.Ref == ref {
			return i
		}
	}
	return nil
}
