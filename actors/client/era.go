package client

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/session"
	"mcpd/protocol/splice"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// ProbeTimeout is how long a server may take to answer server/discover before it is taken for one that does not know it (2026-07-28
// §basic/transports/stdio). A legacy server on a pipe may say nothing at all to what it does not know.
const ProbeTimeout = 5 * time.Second

// dialled starts the handshake: from here on there is somebody to talk to. The era that callers speak is tried first, so that what passes
// between a client and a server of the same era passes as it is; which one it was in the end is kept for the next incarnation.
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
	if c.first() == protocol.Modern {
		return c.probe(c.newest(protocol.Modern))
	}
	return c.greet()
}

// newest is the newest revision of an era that may be spoken to the server, which has one.
func (c *Connection) newest(era protocol.Era) protocol.Version {
	v, _ := c.o.Policy.Newest(era)
	return v
}

// first is the era that is tried first: the one the server was seen to speak, else that of the callers. A program that ended when it was
// probed is not probed again, and HTTP+SSE has one era only. An era that the operator has forbidden is never tried.
func (c *Connection) first() protocol.Era {
	switch {
	case !c.may(protocol.Legacy):
		return protocol.Modern
	case c.o.Known.dies.Load(), !c.may(protocol.Modern), c.up.Info().Transport == transport.SSE:
		return protocol.Legacy
	case c.spoken != 0:
		return c.spoken.Era()
	}
	if c.modern() {
		return protocol.Modern
	}
	return protocol.Legacy
}

// may reports whether the policy has a revision of an era.
func (c *Connection) may(era protocol.Era) bool { return len(c.o.Policy.Offered(era)) > 0 }

// probe asks a server whether it speaks a revision without handshake, in one that may be spoken.
// One that has refused a handshake as only a server without one does may take as long as a start
// may.
func (c *Connection) probe(v protocol.Version) error {
	c.probing, c.probed, c.silent, c.asking = true, true, false, v
	c.up.Negotiated(v)
	c.facts.Version = v
	timeout := min(ProbeTimeout, c.o.StartTimeout/2)
	if handshakeless(c.greeted) {
		timeout = 0 // the start's own ends it
	}
	return c.request("server/discover", nil, timeout, c.discovered)
}

// discovered takes the answer to the probe (2026-07-28 §basic/versioning, "Era Detection"). No one code means that a server is legacy: any
// answer does that only a legacy server can give.
func (c *Connection) discovered(result jsontext.Value, err error) error {
	c.probing, c.facts = false, Facts{}
	if err == nil {
		var r protocol.DiscoverResult
		if r, err = protocol.ParseDiscover(result); err == nil {
			if v, ok := c.o.Policy.Choose(r.Versions); ok {
				if c.answered != nil {
					_ = c.step(session.Refuse) // the handshake is not gone on with
				}
				c.agreed(c.bounds(Facts{Version: v, Capabilities: r.Capabilities, Server: r.Info, Instructions: r.Instructions}))
				return c.learnAll()
			}
		}
		if err == nil {
			err = errors.New("no revision of ours")
		}
		return c.fallBack(c.unspoken(fmt.Errorf("server/discover: %w", err)))
	}
	if c.answered != nil {
		return c.greetedBy(*c.answered)
	}
	if v, ok := c.inAnother(protocol.Modern, err); ok {
		return c.probe(v)
	}
	var answer *jsonrpc.Error
	var status *streamable.StatusError
	switch {
	case errors.As(err, &answer):
		if _, ours := c.o.Policy.Choose(supported(answer)); ours && !c.insisted && len(c.refusals) == 1 {
			c.insisted = true
			return c.probe(c.asking)
		}
		if protocol.SpecCode(answer.Code) && !legacyOffered(answer) {
			return errors.Join(c.greeted, fmt.Errorf("server/discover: %w", err))
		}
	case errors.As(err, &status):
		if !status.Foreign() {
			return errors.Join(c.greeted, fmt.Errorf("server/discover: %w", err))
		}
	case protocol.ConditionOf(err) != protocol.ConditionTimeout:
		return errors.Join(c.greeted, fmt.Errorf("server/discover: %w", err))
	default:
		c.silent = true
	}
	return c.fallBack(fmt.Errorf("server/discover: %w", err))
}

// supported are the revisions that an error names which only a server of the modern era sends.
func supported(e *jsonrpc.Error) (names []string) {
	if e.Code != protocol.CodeUnsupportedVersion {
		return nil
	}
	list, _ := splice.Get(e.Data, "supported")
	for name := range splice.Elements(list) {
		if text, ok := splice.Unquote(name); ok {
			names = append(names, text)
		}
	}
	return names
}

// legacyOffered reports whether such an error names revisions that begin with a handshake.
func legacyOffered(e *jsonrpc.Error) bool {
	return slices.ContainsFunc(supported(e), func(name string) bool {
		v, ok := protocol.ParseVersion(name)
		return ok && v.Era() == protocol.Legacy
	})
}

// fallBack goes on with the other era, unless that was tried before or is forbidden.
func (c *Connection) fallBack(why error) error {
	if c.answered != nil {
		return c.greetedBy(*c.answered)
	}
	if c.life != nil || !c.may(protocol.Legacy) {
		return errors.Join(c.greeted, why)
	}
	return c.greet()
}

// greet begins the handshake of the legacy era.
func (c *Connection) greet() error {
	c.up.Negotiated(0)
	c.life = session.NewClient(c.p.Now(), session.Options{Timeout: c.o.StartTimeout - c.p.Now().Sub(c.started)})
	v := c.newest(protocol.Legacy)
	if slices.Contains(c.o.Policy.Offered(protocol.Legacy), c.greets) {
		v = c.greets
	}
	if err := c.initialize(v); err != nil {
		return err
	}
	return c.step(session.Start)
}

// initialize asks a server for a session in a revision.
func (c *Connection) initialize(v protocol.Version) error {
	c.asking = v
	ask := protocol.InitializeParams{Version: v.String(), Capabilities: c.told.Shape(v), Info: c.o.Self}
	return c.request("initialize", ask.Params(), 0, c.initialized)
}

// modernOnly reports whether initialize was answered, with a revision or an error, as by a server that has no handshake. It has no one way
// to say so, as a legacy server has none to refuse a probe.
func modernOnly(version string, err error) bool {
	var answer *jsonrpc.Error
	var status *streamable.StatusError
	v, known := protocol.ParseVersion(version)
	return known && v.Era() == protocol.Modern || errors.As(err, &answer) || errors.As(err, &status) && status.Foreign()
}

// handshakeless reports whether the answer to initialize is an error about the method or the
// revision. Any other may be of a legacy server that cannot be used, and says nothing to a probe.
func handshakeless(err error) bool {
	answer, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && slices.Contains([]int64{
		jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams, protocol.CodeUnsupportedVersion,
	}, answer.Code)
}

// agreed is where both eras meet: it is known what the server speaks and can do.
func (c *Connection) agreed(f Facts) {
	c.facts, c.spoken, c.unheard = f, f.Version, false
	c.way.hears.Store(c.hearing())
	if c.former != (dialect{}) && c.former != c.spoke() {
		c.former, c.pauses = dialect{}, [signs]pause{}
	}
	if f.Version.Era() == protocol.Modern {
		c.o.Known.dies.Store(false)
	}
	c.up.Negotiated(f.Version)
	if m, ok := transport.As[mirroring](c.up); ok {
		m.Mirror(c.mirrors)
	}
	c.tellLines()
}
