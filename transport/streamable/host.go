// Package streamable implements MCP over Streamable HTTP for the revisions that have sessions: POST
// for messages, GET for the standalone stream, DELETE to end a session, and server-sent events with
// resumption. It also implements the older HTTP+SSE transport from the same parts: one GET stream
// carries everything that the client is sent, and the client sends each message in a POST, which is
// answered with 202.
//
// The package knows nothing of tenants, credentials or the meaning of methods. A Host decides
// those.
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

// ErrNoSession is returned by a Host and its Sessions for a session that has ended, that never
// existed, or that belongs to another caller. Clients must not be able to tell the three cases
// apart: the answer to each is the same 404.
var ErrNoSession = errors.New("no such session")

// Endpoint is the destination of a request and the principal that sent it. It is comparable.
type Endpoint struct {
	Tenant    string
	Server    string // empty for all servers of the tenant combined
	Principal string
}

// RouteKind is a route kind: the purpose of a path.
type RouteKind uint8

// The route kinds.
const (
	Streamable RouteKind = iota // Streamable HTTP
	Events                      // the stream of HTTP+SSE (2024-11-05 §basic/transports)
	// POSTs of HTTP+SSE clients: the path of Events, with or without "/message"
	Messages
)

// Host provides the sessions and the routing that a Handler serves. Its methods are called by many
// requests concurrently.
type Host interface {
	// Route finds the endpoint and the route kind for the path, and authenticates the caller. It must
	// not read the body. Headers that only a proxy may set have been removed from r.
	Route(r *http.Request) (Endpoint, RouteKind, *protocol.Error)
	// Open creates a session for an initialize request. The result or error of the request arrives
	// through out. An error returned by Open means that out receives nothing. The session uses the
	// Streams given in on; nil stands for new ones from Store.Streams.
	Open(ctx context.Context, ep Endpoint, init jsonrpc.Message, out transport.Sink,
		on *Streams) (Session, error)
	// Lookup finds a session of this endpoint and principal, or returns ErrNoSession.
	Lookup(ctx context.Context, ep Endpoint, id string) (Session, error)
	// Policy returns the revisions that an endpoint serves.
	Policy(ep Endpoint) protocol.Negotiation
	// Peer finds the Peer that serves a request without a session. It selects the Peer by the
	// properties that the request states about its client.
	Peer(ctx context.Context, ep Endpoint, c protocol.Class) (Peer, error)
}

// toucher is told that a client has shown activity.
type toucher interface{ Touch() }

// Peer stands for all clients of one principal at an endpoint that describe themselves in the same
// way. Peers exist in the revisions without sessions.
type Peer interface {
	// Call hands over a request. Unless Call returns an error, exactly one outcome must then reach
	// out.Finish. The header fields that repeat the method and its target have been checked against
	// the message. fields gives access to the header fields that the schema of a tool asks for.
	Call(ctx context.Context, m jsonrpc.Message, fields headers.Lookup, out transport.Sink) error
	// Cancel ends the request that was handed over with out, because its client has gone. It has no
	// effect on a request that has its outcome.
	Cancel(out transport.Sink)
	// Touch reports that a client has shown activity. It is called each keep-alive period while a
	// response is open.
	Touch()
}

// Session is the conversation with one client.
type Session interface {
	// ID returns the value that the client sends as Mcp-Session-Id: visible ASCII.
	ID() string
	// Version returns the negotiated revision.
	Version() protocol.Version
	// Deliver hands over a message of the client. out is nil unless m is a request. For a request,
	// exactly one outcome must reach out.Finish, unless Deliver returns an error. The exchange
	// continues when the client disconnects: ctx does not end with the connection.
	Deliver(ctx context.Context, m jsonrpc.Message, out transport.Sink) error
	// Streams returns the streams of the session: the same value on every call.
	Streams() *Streams
	// Touch reports that the client has shown activity. It is called with each request and, while a
	// stream is open, each keep-alive period.
	Touch()
	// Close ends the session at the request of the client.
	Close(ctx context.Context) error
}

// Reconnector is implemented by the Sink of an exchange whose client can be disconnected and
// reconnect later (2025-11-25 §basic/transports, "Sending Messages to the Server" 6).
type Reconnector interface {
	// CloseStream ends the current HTTP response after asking the client to wait for retry before it
	// reconnects. The exchange continues, and its messages are stored until the client reconnects.
	// CloseStream has no effect if the client's revision lacks this feature or if the exchange has its
	// outcome.
	CloseStream(retry time.Duration)
}
