package supervisor

import (
	"context"
	"net/http"

	"mcpd/actors/session"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/negotiation"
	"mcpd/transport/negotiate"
	"mcpd/transport/streamable"
)

// negotiationHost is the Edge as the negotiation API sees it. Its clients are served like clients
// of the newest revision, whose requests are self-contained too.
type negotiationHost struct{ *Edge }

var _ negotiate.Host = negotiationHost{}

// Target finds the endpoint and the name in a path, and who is calling.
func (n negotiationHost) Target(r *http.Request) (negotiate.Target, *protocol.Error) {
	action, ok := tenant.ParseAction(n.now().path(r), r.URL.RawQuery)
	if !ok {
		return negotiate.Target{}, protocol.EndpointNotFound()
	}
	ep, err := n.authenticate(r, action.Route)
	if err == nil && !action.Negotiate && action.Name == "" {
		err = protocol.InvalidParams("the path does not end in a name: write it as one percent-encoded " +
			"segment, or as the parameter of the query")
	}
	return negotiate.Target{Endpoint: ep, Negotiate: action.Negotiate, Place: action.Place,
		Name: action.Name}, err
}

// Rules returns the negotiation rules of the tenant.
func (n negotiationHost) Rules(ep streamable.Endpoint) negotiation.Rules {
	if t := n.now().tenants[ep.Tenant]; t != nil {
		return t.NegotiationRules
	}
	return negotiation.Rules{}
}

// Open makes a session for one client.
func (n negotiationHost) Open(ctx context.Context, ep streamable.Endpoint,
	c *negotiation.Client) (negotiate.Session, error) {
	peer, err := n.peer(ep, c)
	if err != nil {
		return nil, err
	}
	if err := n.countOpening(ep); err != nil {
		return nil, err
	}
	return some(n.start(ctx, session.OpenRequest{
		Endpoint: ep, Peer: peer, Negotiated: c, Idle: n.Rules(ep).Idle,
	}))
}

// Anonymous returns the session that all clients without negotiation share.
func (n negotiationHost) Anonymous(ctx context.Context,
	ep streamable.Endpoint) (negotiate.Session, error) {
	peer, err := n.peer(ep, negotiation.Anonymous())
	if err != nil {
		return nil, err
	}
	return some(n.shared(ctx, ep, *peer))
}

// some prevents a nil handle from becoming a non-nil session.
func some(h *session.Handle, err error) (negotiate.Session, error) {
	if err != nil {
		return nil, err
	}
	return h, nil
}

// peer returns a client as a session knows it. If the tenant offers no modern revision, the client
// gets the error of a modern request.
func (n negotiationHost) peer(ep streamable.Endpoint,
	c *negotiation.Client) (*session.Peer, error) {
	policy := n.Policy(ep)
	offered := policy.Offered(protocol.Modern)
	if len(offered) == 0 {
		_, err := policy.Modern(protocol.Latest.String())
		return nil, err
	}
	return &session.Peer{Version: offered[len(offered)-1], Capabilities: c.Capabilities(),
		Info: c.Info}, nil
}

// Lookup finds a session that this principal negotiated here.
func (n negotiationHost) Lookup(_ context.Context, ep streamable.Endpoint,
	id string) (negotiate.Session, error) {
	s, ok := n.Index.Get(id)
	if !ok || s.Endpoint() != ep || s.Negotiated() == nil {
		return nil, streamable.ErrNoSession
	}
	return s, nil
}

// serve sends requests for the negotiation API to api, and all others to the MCP endpoint.
func serve(path func(*http.Request) string, mcp, api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := tenant.ParseAction(path(r), r.URL.RawQuery); ok {
			api.ServeHTTP(w, r)
			return
		}
		mcp.ServeHTTP(w, r)
	})
}
