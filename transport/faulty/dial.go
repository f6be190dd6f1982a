package faulty

import (
	"context"
	"net"
	"time"

	"mcpd/internal/fault"
)

// Dial wraps the dial function next, for the server named by who. A fault that fails there looks
// like an unknown host name. A delay looks like a slow resolver, whose time counts towards the
// limit of one dial.
func Dial(
	next func(ctx context.Context, network, address string) (net.Conn, error), limit time.Duration,
	faults *fault.Registry, origin fault.Who,
) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if faults.Idle() {
			return next(ctx, network, address)
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		e := faults.At(ctx, fault.UpstreamDial, origin)
		missing := &net.DNSError{Name: address}
		if host, _, err := net.SplitHostPort(address); err == nil {
			missing.Name = host
		}
		switch {
		case e.Action == fault.Fail:
			missing.UnwrapErr, missing.Err, missing.IsNotFound = e, "no such host: "+e.Error(), true
		case ctx.Err() != nil:
			missing.UnwrapErr, missing.Err, missing.IsTimeout = ctx.Err(), ctx.Err().Error(), true
		default:
			return next(ctx, network, address)
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: missing}
	}
}
