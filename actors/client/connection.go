// Package client holds the upstream connection: the actor that is an MCP client towards one server. It dials, shakes hands, learns the
// server's lists, writes calls and reads their answers. It does not know which programs or URLs there are, who may call, or how many
// servers make one list; a dialer, the request manager and the catalogue do.
package client

import (
	"context"
	"fmt"
	"time"

	"mcpd/actors/request"
	"mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/inflight"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// Dial opens the transport of the connection self. It runs in a goroutine of the connection and may take as long as ctx allows.
type Dial func(ctx context.Context, self otp.Ref) (transport.Upstream, error)

// Options are what a connection is made from. They stay the same over its incarnations.
type Options struct {
	Tenant            string
	Server            string
	Key               tenant.Key
	Declare           protocol.ClientCapabilities // what the server may ask its client; part of Key by its fingerprint
	Dial              Dial
	Transport, Target string // for the log
	// Close takes over a transport that is to be closed, so that a server which is slow to end delays nobody.
	Close func(transport.Upstream)

	StartTimeout   time.Duration // from dialling to ready
	RequestTimeout time.Duration // of each thing the host itself asks the server
	Linger         time.Duration // a shared connection without a session ends after this; 0 keeps it

	Requests   otp.Ref // the tenant's request manager
	Dispatcher otp.Ref // the tenant's notification dispatcher
	Catalog    otp.Ref // told every change of state
	Emit       telemetry.Sink
	Self       protocol.Implementation // who the host says it is
	Restore    *Left                   // what an earlier connection of this key had left; nil for nothing
}

// Connection is the behaviour of an upstream connection.
type Connection struct {
	otp.Base
	o Options
	p *otp.Process
	*carry

	up           transport.Upstream
	state        State
	facts        Facts
	started      time.Time
	calls        map[jsonrpc.ID]*flight // written or queued in the transport, by our id
	asked        map[jsonrpc.ID]ask     // what the host itself asked, by our id
	ids          inflight.Counter
	open         map[string]*open // questions of the server that a client has not answered, by the server's id
	busy, relist [Kinds]bool      // lists that are being fetched, and those of them that changed meanwhile
	fetching     int              // lists still being fetched
	news         []catalog.Kind   // lists that are not what they were
	linger       otp.Timer
}

// New makes one incarnation.
func New(o Options) *Connection { return &Connection{o: o} }

// Messages that only this connection sends itself.
type (
	dialled      struct{ up transport.Upstream }
	inbound      struct{ in transport.Inbound }
	startExpired struct{}
	askExpired   struct{ id jsonrpc.ID }
	exhausted    struct{}
	lingered     struct{}
)

// Init answers what the previous incarnation had written and lost, and starts to dial.
func (c *Connection) Init(p *otp.Process) error {
	c.p = p
	c.carry, _ = p.Heir().(*carry)
	if c.carry == nil {
		c.carry = newCarry(c.o)
		p.SetHeir(c.carry)
	}
	c.calls, c.asked, c.open = map[jsonrpc.ID]*flight{}, map[jsonrpc.ID]ask{}, map[string]*open{}
	c.lost(c.o.Requests, c.o.Server)
	c.started = p.Now()
	c.enter(Starting, nil)
	c.tellStarting()
	p.After(c.o.StartTimeout, startExpired{})
	p.Go("transport", c.run)
	for _, s := range c.sessions {
		p.Monitor(s)
	}
	return nil
}

// run dials and reads until the connection ends. Whatever ends it, the transport is handed over for closing.
func (c *Connection) run(ctx context.Context) error {
	up, err := c.o.Dial(ctx, c.p.Self())
	if err != nil {
		return err
	}
	defer c.o.Close(up)
	c.p.Post(dialled{up})
	for {
		in, err := up.Recv(ctx)
		if err != nil {
			return err
		}
		if err := c.p.PostWait(ctx, inbound{in}); err != nil {
			return err
		}
	}
}

// Receive handles one message.
func (c *Connection) Receive(p *otp.Process, msg any) error {
	switch m := msg.(type) {
	case *request.Forward:
		c.forward(m.Exchange)
	case inbound:
		return c.inbound(m.in)
	case *request.Withdraw:
		c.withdraw(m)
	case *Answer:
		c.answer(m)
	case *Attach:
		c.attach(m)
	case *Want:
		c.want(m)
	case *Tell:
		c.tell(m)
	case Describe:
		c.publish(nil, nil)
	case otp.Down:
		c.down(m)
	case detached:
		c.detach(m.ref)
	case dialled:
		return c.dialled(m.up)
	case otp.Done:
		return c.ended(m.Err)
	case startExpired:
		if c.state != Ready {
			return fmt.Errorf("not ready within %s: %w", c.o.StartTimeout, context.DeadlineExceeded)
		}
	case askExpired:
		return c.askExpired(m.id)
	case exhausted:
		return inflight.ErrExhausted
	case lingered:
		c.idle()
	}
	return nil
}

// ended turns the end of the transport into the reason this incarnation exits with.
func (c *Connection) ended(err error) error {
	switch {
	case err == nil:
		err = transport.ErrClosed
	case otp.IsNormal(err): // a built-in server that stops with the host
		return err
	}
	c.tellEnded(err)
	c.cause = err
	if c.state == Ready {
		c.lostAt = c.p.Now()
	}
	c.lost(c.o.Requests, c.o.Server)
	if Permanent(err) {
		c.enter(Failed, err)
	} else {
		c.enter(Backoff, err)
	}
	return err
}

// Terminate refuses what will not be served any more. After a crash the next incarnation does this instead.
func (c *Connection) Terminate(p *otp.Process, reason error) {
	for id := range c.open {
		c.dropQuestion(id)
	}
}

// enter publishes a state to the tree and the catalogue.
func (c *Connection) enter(s State, cause error) {
	c.state = s
	c.publish(cause, nil)
}
