// Package streamable is MCP over Streamable HTTP: POST for messages, GET for the standing stream, DELETE for the end, server-sent events
// and their resumption, for the revisions that have sessions. It is also MCP over HTTP+SSE, which came before and is made of the same parts:
// one GET stream for all that a client is sent, and a POST, answered 202, for each message it sends.
//
// It does not know tenants, credentials or what a method does: a Host decides those.
package streamable

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// ErrNoSession is what a Host and its Sessions return for a session that ended, never was, or is not the caller's. The three must not be
// told apart: the answer to each is the same 404.
var ErrNoSession = errors.New("no such session")

// Endpoint is where a request goes and who sent it. It is a comparable value.
type Endpoint struct {
	Tenant    string
	Server    string // empty for all of the tenant's servers as one
	Principal string
}

// Door is what a path is for.
type Door uint8

// Doors.
const (
	Streamable Door = iota // Streamable HTTP
	Events                 // the stream of HTTP+SSE (2024-11-05 §basic/transports)
	Messages               // where the clients of such streams post: the path of Events, and "/message"
)

// Host is what the handler serves. Its methods are called by many requests at once.
type Host interface {
	// Route finds the endpoint and the door that the path names and authenticates the caller. It must not read the body. Headers that
	// only a proxy may set have been removed from r.
	Route(r *http.Request) (Endpoint, Door, *protocol.Error)
	// Open creates a session for an initialize request, whose result or error arrives through out. An error means that there is neither.
	// The session's Streams are those given; nil stands for new ones from Store.Streams.
	Open(ctx context.Context, ep Endpoint, init jsonrpc.Message, out transport.Sink, on *Streams) (Session, error)
	// Lookup finds a session of this endpoint and principal, or returns ErrNoSession.
	Lookup(ctx context.Context, ep Endpoint, id string) (Session, error)
	// Policy says which revisions are served at an endpoint.
	Policy(ep Endpoint) protocol.Negotiation
	// Peer finds who serves a request that belongs to no session, by what it says about its client.
	Peer(ctx context.Context, ep Endpoint, c protocol.Class) (Peer, error)
}

// toucher is told that a client was heard of.
type toucher interface{ Touch() }

// Peer is all clients that one principal has at an endpoint and that say the same about themselves, of a revision without sessions.
type Peer interface {
	// Call hands over a request, whose one outcome must then reach out.Finish, unless Call returns an error. What its header fields say
	// of the method and of what that names has been found true; fields is for those that a tool's schema asks for.
	Call(ctx context.Context, m jsonrpc.Message, fields headers.Lookup, out transport.Sink) error
	// Cancel ends the request that was handed over with out: its client has gone. It does nothing for one that has its outcome.
	Cancel(out transport.Sink)
	// Touch says that a client was heard of. It is called each keep-alive period while a response is open.
	Touch()
}

// Session is one client's conversation.
type Session interface {
	// ID is what the client sends as Mcp-Session-Id: visible ASCII.
	ID() string
	// Version is the negotiated revision.
	Version() protocol.Version
	// Deliver hands over a message of the client. Out is nil unless m is a request, whose one outcome must then reach out.Finish, unless
	// Deliver returns an error. The exchange goes on when the client disconnects: ctx has no end of its own.
	Deliver(ctx context.Context, m jsonrpc.Message, out transport.Sink) error
	// Streams is the session's: the same on every call.
	Streams() *Streams
	// Touch says that the client was heard of. It is called with each request and, while a stream is open, each keep-alive period.
	Touch()
	// Close ends the session because the client said so.
	Close(ctx context.Context) error
}

// Reconnector is implemented by the Sink of an exchange whose client can be sent away and come back (2025-11-25 §basic/transports,
// "Sending Messages to the Server" 6).
type Reconnector interface {
	// CloseStream ends the current HTTP response after asking the client to wait for retry before it reconnects. The exchange continues:
	// what it sends from now on is kept for the client's return. It does nothing for a client whose revision lacks this, or which
	// has its outcome.
	CloseStream(retry time.Duration)
}
