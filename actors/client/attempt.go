package client

import (
	"context"
	"time"

	"mcpd/transport"
)

// begin starts from nothing: there is no server yet, and all that is known is in the carried state.
func (c *Connection) begin(wait time.Duration) {
	c.reset()
	c.absence.away, c.absence.asking = false, false // the connection dials by itself
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

// restart replaces the server. Queued calls go to the next one.
func (c *Connection) restart(ending *Ending) {
	c.endParked()
	c.leave()
	c.abandon(ending)
	c.begin(0)
}

// leave ends the transport. Its callers reset the server, so the transport's end is ignored.
func (c *Connection) leave() {
	if c.quit != nil {
		c.quit()
	}
}

// ended is the error with which a transport ended, and its attempt.
type ended struct {
	error
	attempt uint64
}

// dial opens a transport and reads from it, in a goroutine of the connection.
func (c *Connection) dial() {
	ctx, quit := context.WithCancel(c.p.Context())
	c.quit = quit
	attempt, way, lately := c.attempt, c.shortcut, readLimiter{asked: c.unanswered}
	c.p.Go("transport", func(context.Context) error {
		defer quit()
		return ended{c.read(ctx, attempt, way, &lately), attempt}
	})
}

// read dials and reads until the transport ends. It hands the transport over for closing in any
// case.
func (c *Connection) read(
	ctx context.Context, attempt uint64, way *shortcut, lately *readLimiter,
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
		number := way.next() // before the pause: no answer overtakes a message that waits
		if err := c.throttle(ctx, lately, in); err != nil {
			return err
		}
		if err := c.bring(ctx, inbound{in: in, attempt: attempt, number: number}); err != nil {
			return err
		}
	}
}

// bring passes a message to the connection. If the message is large, bring waits until it was
// handled: the transport counts it until the next message is asked for.
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
