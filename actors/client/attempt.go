package client

import (
	"context"
	"time"

	"mcpd/transport"
)

// begin starts from nothing: there is no server yet, and all that is known of one is what the heir holds.
func (c *Connection) begin(wait time.Duration) {
	c.reset()
	c.absence.is, c.absence.asking = false, false // it dials by itself
	c.started = c.p.Now()
	c.start = c.p.After(c.o.StartTimeout, startExpired{})
	c.enter(Starting, nil)
	c.tellStarts()
	c.tellStarting()
	if wait > 0 {
		c.p.After(wait, redial{c.attempt})
		return
	}
	c.dial()
}

// restart begins anew with a server that is to be another: what waits for it goes to that.
func (c *Connection) restart(why *Ending) {
	c.endParked()
	c.leave()
	c.abandon(why)
	c.begin(0)
}

// leave ends the transport, whose end is no news any more.
func (c *Connection) leave() {
	if c.quit != nil {
		c.quit()
	}
}

// ended is how a transport ended, and at which attempt.
type ended struct {
	error
	attempt uint64
}

// dial opens a transport.
func (c *Connection) dial() {
	ctx, quit := context.WithCancel(c.p.Context())
	c.quit = quit
	attempt, way, lately := c.attempt, c.way, reading{asked: c.unanswered}
	c.p.Go("transport", func(context.Context) error {
		defer quit()
		return ended{c.read(ctx, attempt, way, &lately), attempt}
	})
}

// read dials and reads until the transport ends. Whatever ends it, it is handed over for closing.
func (c *Connection) read(
	ctx context.Context, attempt uint64, way *shortcut, lately *reading,
) error {
	up, err := c.o.Dial(ctx, c.p.Self())
	if err != nil {
		return err
	}
	defer c.o.Close(up)
	if p, ok := transport.As[transport.Prompt](up); ok {
		p.Answers(way.take)
	}
	c.p.Post(dialled{up, attempt})
	for {
		in, err := up.Recv(ctx)
		if err != nil {
			return err
		}
		if way.take(in) {
			continue
		}
		number := way.next() // before the rest: no answer overtakes what rests
		if err := c.rest(ctx, lately, in); err != nil {
			return err
		}
		if err := c.bring(ctx, inbound{in: in, attempt: attempt, number: number}); err != nil {
			return err
		}
	}
}

// bring gives the connection what was read. It waits until what is large was handled: the transport
// counts it until the next message is asked for.
func (c *Connection) bring(ctx context.Context, m inbound) error {
	if m.in.Message.Size() < transport.Large {
		return c.p.PostWait(ctx, m)
	}
	m.handled = make(chan struct{})
	if err := c.p.PostWait(ctx, m); err != nil {
		return err
	}
	select {
	case <-m.handled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
