package client

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client/internal/era"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// Facts are what the handshake established about a server.
type Facts = era.Facts

// MaxStamp bounds the serverInfo that the host adds to every result, in bytes.
const MaxStamp = era.MaxStamp

// dialled starts the handshake: from here on there is somebody to talk to.
func (c *Connection) dialled(up transport.Upstream) error {
	c.up = up
	if c.info().PID != 0 { // another process, which was given nothing yet
		c.served = served{}
	}
	c.tells(c.together())
	c.publish(nil, nil)
	c.peeked = nil
	c.peekLater(0)
	if c.goOn() {
		return c.learnAll()
	}
	return c.greet(c.handshake.Begin(c.p.Now(), era.Options{
		Past: c.past, Policy: c.o.Policy, Modern: c.modern(), Dies: c.o.Known.dies.Load(),
		OneEra: up.Info().Transport == transport.SSE, Piped: c.piped(),
		Timeout: c.o.StartTimeout, Started: c.started,
	}))
}

// greet does what the handshake says.
func (c *Connection) greet(e era.Effect) error {
	c.facts = Facts{}
	switch e.Do {
	case era.Discover:
		c.up.Negotiated(e.Version)
		c.facts.Version = e.Version
		return c.request("server/discover", nil, e.Within, c.greeted)
	case era.Initialize:
		c.up.Negotiated(0)
		ask := protocol.InitializeParams{
			Version: e.Version.String(), Capabilities: c.told.Shape(e.Version), Info: c.o.Self,
		}
		return c.request("initialize", ask.Params(), 0, c.greeted)
	case era.Agree:
		c.agreed(c.bounds(e.Facts))
		if c.facts.Version.Era() == protocol.Legacy {
			c.send(jsonrpc.Notification("notifications/initialized", nil))
		}
		return c.learnAll()
	}
	return e.Err
}

// greeted takes the server's answer.
func (c *Connection) greeted(result jsontext.Value, err error) error {
	return c.greet(c.handshake.Answered(c.p.Now(), era.Answer{
		Result: result, Err: err, Own: c.own(), Stateless: c.info().Stateless,
	}))
}

// own are the revisions that the clients speak on whose behalf the server is asked.
func (c *Connection) own() (all []protocol.Version) {
	if left := c.o.Restore; left != nil {
		all = append(all, left.Version)
	}
	for _, u := range order.Of(c.clients) {
		all = append(all, u.Version)
	}
	for _, x := range c.queue {
		all = append(all, x.Version)
	}
	return all
}

// greeting reports whether the server has not agreed to anything yet.
func (c *Connection) greeting() bool {
	return c.state == Starting && (c.handshake.Probing() || c.facts.Version == 0)
}

// agreed takes note of what the server speaks and can do.
func (c *Connection) agreed(f Facts) {
	c.facts, c.unheard = f, false
	c.past.Spoken = f.Version
	c.way.hears.Store(c.hearing())
	c.identity.Agreed(c.speaks())
	if f.Version.Era() == protocol.Modern {
		c.o.Known.dies.Store(false)
	}
	c.up.Negotiated(f.Version)
	if m, ok := transport.As[mirroring](c.up); ok {
		m.Mirror(c.mirrors)
	}
	c.tellLines()
}

// bounds is what is kept of the facts. An operator is told once of the same bounds that they
// exceed.
func (c *Connection) bounds(f Facts) Facts {
	f, cuts := f.Bound()
	for _, cut := range cuts {
		if !slices.Contains(c.factCuts, cut) {
			c.o.Emit(telemetry.ListCut{
				Where: c.where(), List: "initialize", Reason: string(cut.Reason), Count: uint32(cut.Count),
				First: telemetry.Clean(f.Server.Name, telemetry.MaxValue),
			})
		}
	}
	c.factCuts = cuts
	return f
}

// startExpired ends a start that has taken too long.
func (c *Connection) startExpired() error {
	err := c.handshake.Late(c.p.Now(), c.o.StartTimeout)
	if c.remote() {
		return c.away(err, true)
	}
	if up, ok := transport.As[unready](c.up); ok { // the next of it would take as long
		c.gaveUp = true
		return otp.ShutdownWith(c.blame(up.Unready(c.o.StartTimeout)))
	}
	return err
}

// unready is a transport that can say what its server has done in the place of a handshake.
type unready interface {
	Unready(within time.Duration) error
}
