// Package load puts calls on a server, checks that every reply belongs to the call it answers, and compares what it measured. It
// does not know what it measures for: benches, fault runs and tests choose the servers, the rates and the limits.
package load

import (
	"context"
	"errors"
)

// Client makes one call that carries nonce and returns the nonce its reply carried. Every caller that holds one Client may call it at
// the same time. An error wrapping ErrNoReply, or the end of ctx, says that no outcome came; an error wrapping ErrDuplicate comes with
// a nonce and says that more than one did; any other error is an outcome.
type Client interface {
	Call(ctx context.Context, nonce Nonce) (Nonce, error)
}

// Errors of a Client that are not outcomes of the server. Each is wrapped at most once.
var (
	// ErrNoReply says that the exchange ended without an outcome.
	ErrNoReply = errors.New("no reply")
	// ErrDuplicate says that one request had more than one outcome.
	ErrDuplicate = errors.New("more than one reply")
)
