package faulty

import (
	"context"
	"net"
	"time"

	"mcpd/internal/fault"
)

// Dial wraps what opens connections to the server that who names. A fault that fails there is a name that nobody knows, and one that is slow is a
// resolver that takes its time, which is part of the limit that one dial has.
func Dial(
	next func(ctx context.Context, network, address string) (net.Conn, error), limit time.Duration, faults *fault.Registry, who fault.Who,
) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if faults.Idle() {
			return next(ctx, network, address)
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		e := faults.At(ctx, fault.UpstreamDial, who)
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
