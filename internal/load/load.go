// Package load makes calls to a server, checks that every reply belongs to its call, and compares
// measurements. It does not know the purpose of a measurement: benchmarks, chaos experiments and
// tests choose the servers, the rates and the limits.
package load

import (
	"context"
	"errors"
)

// Client makes one call that carries nonce and returns the nonce of its reply. Several callers may
// use one Client concurrently. An error that wraps ErrNoReply, or the end of ctx, says that no
// outcome came. An error that wraps ErrDuplicate comes with a nonce and says that more than one
// outcome came. Any other error is an outcome.
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
