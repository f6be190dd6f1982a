// Package faulty wraps a connection to a server, of any transport, and injects faults that a test
// or an operator has armed. It acts where messages are read and written, so it does not know how
// they are framed.
package faulty

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"mcpd/internal/fault"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// MaxHeld is how many messages of a connection may be delayed at once. Further messages are not
// delayed.
const MaxHeld = 1024

// Conn is a connection with faults. While none is armed it costs one atomic load per message. Recv
// is for one caller at a time, the other methods for any number.
type Conn struct {
	transport.Upstream
	faults *fault.Registry
	origin fault.Who

	// The following fields are used by the caller of Recv.
	delayed []held // delayed or duplicated messages, in the order of their time
	end     error  // the error that Recv returns from now on
}

type held struct {
	in transport.Inbound
	at time.Time
}

// New wraps a connection to the server named by who.
func New(up transport.Upstream, faults *fault.Registry, origin fault.Who) *Conn {
	return &Conn{Upstream: up, faults: faults, origin: origin}
}

// Unwrap returns the wrapped connection, for transport.As.
func (c *Conn) Unwrap() transport.Upstream { return c.Upstream }

// Answers implements transport.Prompt. While a fault is armed, responses come by Recv, where faults
// strike.
func (c *Conn) Answers(take func(transport.Inbound) bool) {
	if up, ok := transport.As[transport.Prompt](c.Upstream); ok {
		up.Answers(func(in transport.Inbound) bool { return c.faults.Idle() && take(in) })
	}
}

// Send hands a message to the connection, or drops or duplicates it as a fault says.
func (c *Conn) Send(ctx context.Context, m jsonrpc.Message) error {
	switch e := c.faults.At(ctx, fault.UpstreamWrite, c.origin); e.Action {
	case fault.Drop:
		return nil
	case fault.Duplicate:
		if err := c.Upstream.Send(ctx, m); err != nil {
			return err
		}
	}
	return c.Upstream.Send(ctx, m)
}

// SendBy implements transport.Borrower. While a fault is armed, it is Send.
func (c *Conn) SendBy(ctx context.Context, m jsonrpc.Message, by transport.Lender) error {
	if up, ok := transport.As[transport.Borrower](c.Upstream); ok && c.faults.Idle() {
		return up.SendBy(ctx, m, by)
	}
	return c.Send(ctx, m)
}

// Recv returns the next message, as it is or as a fault has changed it, and omits those that a
// fault drops. Messages come in the order of the connection, except delayed ones.
func (c *Conn) Recv(ctx context.Context) (transport.Inbound, error) {
	for c.end == nil {
		in, struck, err := c.next(ctx)
		if err != nil || struck || in.Err != nil || in.Control != nil {
			return in, err
		}
		switch e := c.faults.At(ctx, fault.UpstreamRead, c.origin); e.Action {
		case fault.Drop:
		case fault.Cut:
			c.end = fmt.Errorf("%w: %w", e, io.ErrUnexpectedEOF)
		case fault.Garble, fault.Truncate:
			if in, ok := garble(in, e); ok {
				return in, nil
			}
		case fault.Duplicate:
			c.hold(in, 0)
			return in, nil
		case fault.Late:
			if !c.hold(in, e.Delay) {
				return in, nil
			}
		default:
			return in, nil
		}
	}
	return transport.Inbound{}, c.end
}

// hold keeps a message for d. It reports false, and does not keep it, when too many are held.
func (c *Conn) hold(in transport.Inbound, d time.Duration) bool {
	if len(c.delayed) >= MaxHeld {
		return false
	}
	c.delayed = append(c.delayed, held{in, time.Now().Add(d)})
	slices.SortStableFunc(c.delayed, func(a, b held) int { return a.at.Compare(b.at) })
	return true
}

// next returns the message that is due, else the next of the connection. Struck says that a fault
// has struck it already; it is not struck again.
func (c *Conn) next(ctx context.Context) (in transport.Inbound, struck bool, err error) {
	if len(c.delayed) == 0 {
		in, err = c.Upstream.Recv(ctx)
		return in, false, err
	}
	if due := c.delayed[0].at; time.Now().Before(due) {
		wait, cancel := context.WithDeadline(ctx, due)
		defer cancel()
		in, err = c.Upstream.Recv(wait)
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return in, false, err
		}
	}
	in = c.delayed[0].in
	c.delayed = slices.Delete(c.delayed, 0, 1)
	return in, true, nil
}

// garble returns the effect of a message whose bytes are no longer JSON. A response fails the
// request that it answers, if its id can still be read. Any other message is lost, as with a real
// connection.
func garble(in transport.Inbound, e fault.Effect) (transport.Inbound, bool) {
	if in.Message.Method != "" {
		return transport.Inbound{}, false
	}
	bytes := in.Message.Append(nil)
	if e.Action == fault.Truncate {
		bytes = bytes[:len(bytes)-1-len(in.Message.Result)/2]
	} else {
		bytes[0] = '~'
	}
	_, cause := jsonrpc.Decode(bytes, protocol.UpstreamLimits())
	id, _ := jsonrpc.PeekID(bytes)
	id = cmp.Or(id, in.RequestID) // a response on the stream of its request needs no id
	return transport.Inbound{RequestID: id, Err: fmt.Errorf("%w: %w", e, cause),
		Written: true}, !id.IsZero()
}
