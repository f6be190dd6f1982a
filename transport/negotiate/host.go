// Package negotiate implements the negotiation API. A client posts its capabilities and gets the
// lists of the server. Then it calls tools, reads resources and gets their changes by plain HTTP
// requests that name its session, without JSON-RPC (S3-7 to S3-10).
//
// The package does not know tenants, credentials or servers: a Host has those. Package terms
// decides which requests are allowed.
package negotiate

import (
	"context"
	"net/http"

	"mcpd/protocol"
	"mcpd/protocol/negotiation"
	"mcpd/transport/streamable"
)

// Target is the addressee of a request, and its sender.
type Target struct {
	Endpoint  streamable.Endpoint
	Negotiate bool // the negotiation itself; else Place and Name apply
	Place     negotiation.PathKind
	Name      string // name of a tool, or URI of a resource
}

// Host is the handler's access to the host. Many requests call its methods at once.
type Host interface {
	// Target resolves the path and authenticates the caller. It must not read the body.
	Target(r *http.Request) (Target, *protocol.Error)
	// Rules returns the rules of an endpoint.
	Rules(ep streamable.Endpoint) negotiation.Rules
	// Open makes a session for a client that has declared its capabilities.
	Open(ctx context.Context, ep streamable.Endpoint, c *negotiation.Client) (Session, error)
	// Lookup finds a session that Open made for this endpoint and principal, or returns
	// streamable.ErrNoSession (S3-37).
	Lookup(ctx context.Context, ep streamable.Endpoint, id string) (Session, error)
	// Anonymous returns the session shared by all clients of an endpoint and principal that did not
	// negotiate.
	Anonymous(ctx context.Context, ep streamable.Endpoint) (Session, error)
}

// Session is the session of one client, or of all clients that did not negotiate. Its requests are
// independent: each gets its own response.
type Session interface {
	streamable.Peer
	// ID is the value of the client's X-MCP-Session-ID.
	ID() string
	// Version is the revision of the results.
	Version() protocol.Version
	// Negotiated returns the client's declaration; nil for an anonymous client.
	Negotiated() *negotiation.Client
	// Close ends the session at the request of the client.
	Close(ctx context.Context) error
}
