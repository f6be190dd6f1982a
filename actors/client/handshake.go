package client

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client/internal/era"
	"mcpd/internal/sortedmap"
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

// dialled starts the handshake on a new transport.
func (c *Connection) dialled(up transport.Upstream) error {
	c.up = up
	if c.info().PID != 0 { // a new process, which was given no call yet
		c.served = servedPrincipals{}
	}
	c.setDeclared(c.combinedCapabilities())
	c.publish(nil, nil)
	c.peeked = nil
	c.peekLater(0)
	if c.resumeParked() {
		return c.learnAll()
	}
	return c.stepHandshake(c.handshake.Begin(c.p.Now(), era.Options{
		Past: c.past, Policy: c.o.Policy, Modern: c.modern(), EndsOnProbe: c.o.Known.endsOnProbe.Load(),
		OneEra: up.Info().Transport == transport.SSE, Piped: c.piped(),
		Timeout: c.o.StartTimeout, Started: c.started,
	}))
}

// stepHandshake performs the next step of the handshake.
func (c *Connection) stepHandshake(e era.Effect) error {
	c.facts = Facts{}
	switch e.Do {
	case era.Discover:
		c.up.Negotiated(e.Version)
		c.facts.Version = e.Version
		return c.request("server/discover", nil, e.Within, c.handshakeAnswered)
	case era.Initialize:
		c.up.Negotiated(0)
		ask := protocol.InitializeParams{
			Version: e.Version.String(), Capabilities: c.toldCapabilities.Shape(e.Version), Info: c.o.Self,
		}
		return c.request("initialize", ask.Params(), 0, c.handshakeAnswered)
	case era.Agree:
		c.agreed(c.boundFacts(e.Facts))
		if c.facts.Version.Era() == protocol.Legacy {
			c.send(jsonrpc.Notification("notifications/initialized", nil))
		}
		return c.learnAll()
	}
	return e.Err
}

// handshakeAnswered handles the server's answer to a step of the handshake.
func (c *Connection) handshakeAnswered(result jsontext.Value, err error) error {
	return c.stepHandshake(c.handshake.Answered(c.p.Now(), era.Answer{
		Result: result, Err: err, Own: c.clientRevisions(), Stateless: c.info().Stateless,
	}))
}

// clientRevisions returns the revisions of the clients on whose behalf the server is asked.
func (c *Connection) clientRevisions() (all []protocol.Version) {
	if abandoned := c.o.Restore; abandoned != nil {
		all = append(all, abandoned.Version)
	}
	for _, u := range sortedmap.Sorted(c.clients) {
		all = append(all, u.Version)
	}
	for _, x := range c.queue {
		all = append(all, x.Version)
	}
	return all
}

// greeting reports whether the server has not agreed to a revision yet.
func (c *Connection) greeting() bool {
	return c.state == Starting && (c.handshake.Probing() || c.facts.Version == 0)
}

// agreed records what the server speaks and can do.
func (c *Connection) agreed(f Facts) {
	c.facts, c.noAnnouncements = f, false
	c.past.Spoken = f.Version
	c.shortcut.translator.Store(c.resultTranslator())
	c.identity.Agreed(c.dialect())
	if f.Version.Era() == protocol.Modern {
		c.o.Known.endsOnProbe.Store(false)
	}
	c.up.Negotiated(f.Version)
	if m, ok := transport.As[mirroring](c.up); ok {
		m.Mirror(c.mirrors)
	}
	c.tellLines()
}

// boundFacts cuts the facts to their limits. An operator is told of an excess that the server did
// not have at its last start.
func (c *Connection) boundFacts(f Facts) Facts {
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
	if up, ok := transport.As[unreadyReporter](c.up); ok { // the next start would take as long
		c.gaveUp = true
		return otp.ShutdownWith(c.blame(up.Unready(c.o.StartTimeout)))
	}
	return err
}

// unreadyReporter is a transport that can say what its server has done in place of a handshake.
type unreadyReporter interface {
	Unready(within time.Duration) error
}
