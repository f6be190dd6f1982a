// Package negotiate is the negotiation API: a client posts what it can, is told what there is, and then calls tools, reads resources and
// hears of their changes by plain HTTP requests that name its session, without JSON-RPC (S3-7 to S3-10).
//
// It does not know tenants, credentials or servers: a Host has those. What may be done is decided by package terms.
package negotiate

import (
	"context"
	"net/http"

	"mcpd/protocol"
	"mcpd/protocol/terms"
	"mcpd/transport/streamable"
)

// Target is what a request is for and who sent it.
type Target struct {
	Endpoint  streamable.Endpoint
	Negotiate bool        // the negotiation itself; else the next two
	Place     terms.Place //
	Name      string      // of a tool, or the URI of a resource
}

// Host is what the handler serves. Its methods are called by many requests at once.
type Host interface {
	// Target finds what the path names and authenticates the caller. It must not read the body.
	Target(r *http.Request) (Target, *protocol.Error)
	// Rules are those of an endpoint.
	Rules(ep streamable.Endpoint) terms.Rules
	// Open makes a session for a client that has declared what it can.
	Open(ctx context.Context, ep streamable.Endpoint, c *terms.Client) (Session, error)
	// Lookup finds a session that Open made for this endpoint and principal, or returns streamable.ErrNoSession (S3-37).
	Lookup(ctx context.Context, ep streamable.Endpoint, id string) (Session, error)
	// Anonymous finds the session of all clients of an endpoint and principal that did not negotiate.
	Anonymous(ctx context.Context, ep streamable.Endpoint) (Session, error)
}

// Session is one client's, and its requests stand alone: each is answered by itself.
type Session interface {
	streamable.Peer
	// ID is what the client sends as X-MCP-Session-ID.
	ID() string
	// Version is the revision in which results are said.
	Version() protocol.Version
	// Terms is what the client declared; nil for an anonymous one.
	Terms() *terms.Client
	// Close ends the session because the client said so.
	Close(ctx context.Context) error
}
