package supervisor

import (
	"context"
	"errors"
	"net/http"
	"net/netip"

	"mcpd/actors/client"
	"mcpd/actors/session"
	"mcpd/gateway/auth"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/internal/clock"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// Edge is what the transports serve. It finds out who is calling and for what, and hands out the
// session. It is not an actor, has no state of its own except rate limiters, and is safe for
// concurrent use.
type Edge struct {
	now      func() *settings
	Failures *quota.Failures
	requests quota.Rates
	openings quota.Rates
	Clock    clock.Clock
	Index    *session.Index
	Ledger   *quota.Ledger
	// TenantDown returns why a tenant does not run, nil while it does.
	TenantDown func(tenant string) *protocol.Error
	// Closing returns why no session is opened, nil while sessions are.
	Closing  func() *protocol.Error
	Sessions func() otp.Ref // core/session_manager
}

var (
	_ streamable.Host     = (*Edge)(nil)
	_ streamable.Recaller = (*Edge)(nil)
)

// Route finds the endpoint that a path names, and who is calling. An unknown tenant, a missing key
// and a wrong key get the same refusal. Only callers that may use the tenant learn that a server
// does not exist.
func (h *Edge) Route(r *http.Request) (ep streamable.Endpoint, kind streamable.RouteKind,
	refused *protocol.Error) {
	path := h.now().path(r)
	route, ok := tenant.ParsePath(path)
	if !ok {
		if tenant.SeeksAuthorization(path) {
			return ep, kind, protocol.NoOAuth()
		}
		return ep, kind, protocol.EndpointNotFound()
	}
	ep, refused = h.authenticate(r, route)
	return ep, routes[route.Kind], refused
}

// routes maps each kind of path to the transport's route.
var routes = []streamable.RouteKind{
	tenant.MCP: streamable.Streamable, tenant.Events: streamable.Events,
	tenant.Messages: streamable.Messages,
}

// credentials returns the credentials in a request.
func credentials(r *http.Request) auth.Credentials {
	return auth.Credentials{
		Authorization: r.Header.Values("Authorization"), APIKey: r.Header.Values("X-Api-Key"),
	}
}

// authenticate authenticates the caller of the endpoint that a path names.
func (h *Edge) authenticate(r *http.Request, route tenant.Route) (streamable.Endpoint,
	*protocol.Error) {
	now := h.now()
	who, err := now.keys.Authenticate(route.Tenant, credentials(r))
	if err != nil {
		return streamable.Endpoint{}, h.refusal(r, err)
	}
	if err := h.checkTenant(r, now, route.Tenant); err != nil {
		return streamable.Endpoint{}, err
	}
	if route.Server != "" {
		t := now.tenants[route.Tenant]
		if _, known := t.Server(route.Server); !known && t.WasRemoved(route.Server) {
			return streamable.Endpoint{}, protocol.EndpointRemoved(route.Server)
		} else if !known {
			return streamable.Endpoint{}, protocol.ServerNotFound(route.Server, t.ServerNames())
		}
	}
	if err := h.countRequest(now, route.Tenant, who.Name); err != nil {
		return streamable.Endpoint{}, err
	}
	return streamable.Endpoint{Tenant: route.Tenant, Server: route.Server, Principal: who.Name}, nil
}

// checkTenant checks that a tenant runs, and may have the connection of a request.
func (h *Edge) checkTenant(r *http.Request, now *settings, name string) *protocol.Error {
	if full := streamable.Claim(r, name, now.tenants[name].Limits.MaxConnections); full != "" {
		return &protocol.Error{Condition: protocol.ConditionOverloaded, Message: full, RetryAfter: second}
	}
	return h.TenantDown(name)
}

// countRequest counts one more request of a principal against the rate limits.
func (h *Edge) countRequest(now *settings, tenant, principal string) *protocol.Error {
	limits := &now.tenants[tenant].Limits
	if wait := h.requests.Take(h.Clock.Now(), tenant, principal, limits.MaxRate,
		limits.MaxPrincipalRate); wait > 0 {
		return protocol.RateLimited(wait)
	}
	return nil
}

// Settings implements streamable.Recaller. Keys, servers and the base path are part of the
// settings, and a key never expires by itself.
func (h *Edge) Settings() uint64 { return h.now().id }

// Enter implements streamable.Recaller.
func (h *Edge) Enter(r *http.Request, ep streamable.Endpoint) *protocol.Error {
	now := h.now()
	if now.tenants[ep.Tenant] == nil { // a reload took the tenant away since Settings was asked
		return h.refusal(r, auth.ErrUnauthorized)
	}
	if err := h.checkTenant(r, now, ep.Tenant); err != nil {
		return err
	}
	return h.countRequest(now, ep.Tenant, ep.Principal)
}

// countOpening counts a session that is about to be opened against the rate limits.
func (h *Edge) countOpening(ep streamable.Endpoint) error {
	if refused := h.Closing(); refused != nil {
		return refused
	}
	limits := h.now().limits(ep.Tenant)
	if wait := h.openings.Take(h.Clock.Now(), ep.Tenant, ep.Principal, limits.MaxInitializeRate,
		limits.MaxPrincipalInitializeRate); wait > 0 {
		return protocol.RateLimited(wait)
	}
	return nil
}

// refusal returns the answer for a caller that was not authenticated. An address that fails
// repeatedly is asked to wait; that does not delay callers from there with a valid key. A request
// without a credential is not a failure: clients that look for the content of a 401 send one at
// each start.
func (h *Edge) refusal(r *http.Request, err error) *protocol.Error {
	if err == auth.ErrUnauthorized && !credentials(r).Present() {
		return protocol.Unauthenticated()
	}
	now, rate := h.Clock.Now(), quota.PerMinute(h.now().config.Edge.Failures)
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	if wait := h.Failures.Wait(now, from.Addr(), rate); wait > 0 {
		return protocol.RateLimited(wait)
	}
	h.Failures.Failed(now, from.Addr(), rate)
	if err == auth.ErrAmbiguous {
		return protocol.InvalidRequest(err.Error())
	}
	return protocol.Unauthenticated()
}

// Open makes a session and delivers its initialize message.
func (h *Edge) Open(
	ctx context.Context, ep streamable.Endpoint, init jsonrpc.Message, out transport.Sink,
	on *streamable.Streams,
) (streamable.Session, error) {
	r := session.OpenRequest{Endpoint: ep, Streams: on}
	if on != nil && on.Channel() {
		r.Idle = on.Away() // nothing else tells that its client does not come back
	}
	s, err := h.open(ctx, r, init, out)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// OpenPushed is Open for a transport that has one channel for everything sent to a client.
func (h *Edge) OpenPushed(
	ctx context.Context, ep streamable.Endpoint, init jsonrpc.Message, out transport.Sink,
	push func(jsonrpc.Message) error,
) (*session.Handle, error) {
	return h.open(ctx, session.OpenRequest{Endpoint: ep, Push: push}, init, out)
}

func (h *Edge) open(ctx context.Context, r session.OpenRequest, init jsonrpc.Message,
	out transport.Sink) (*session.Handle, error) {
	if err := h.countOpening(r.Endpoint); err != nil {
		return nil, err
	}
	s, err := h.start(ctx, r)
	if err != nil {
		return nil, err
	}
	return s, s.Deliver(ctx, init, out)
}

// Policy returns the negotiation rules of the tenant.
func (h *Edge) Policy(ep streamable.Endpoint) protocol.Negotiation {
	if t := h.now().tenants[ep.Tenant]; t != nil {
		return t.Negotiation
	}
	return protocol.Negotiation{} // a reload removed the tenant; the session manager will say so
}

// Peer returns the session that serves clients which have none, and makes it for the first request
// of its kind.
func (h *Edge) Peer(ctx context.Context, ep streamable.Endpoint,
	c protocol.Class) (streamable.Peer, error) {
	s, err := h.shared(ctx, ep, session.Peer{Version: c.Version, Capabilities: c.Meta.Capabilities})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// shared returns the session that all clients of a peer share.
func (h *Edge) shared(ctx context.Context, ep streamable.Endpoint,
	peer session.Peer) (*session.Handle, error) {
	required := h.now().required[ep.Tenant]
	for _, capability := range required {
		if peer.Capabilities.Has(capability) {
			peer.Required += capability + " "
		}
	}
	if s, ok := h.Index.Peer(ep, peer); ok && s.Serving() {
		s.Touch()
		return s, nil
	}
	peer.Capabilities = keptCapabilities(peer.Capabilities, required)
	return h.start(ctx, session.OpenRequest{Endpoint: ep, Peer: &peer})
}

// keptCapabilities returns the capabilities that a peer keeps from its first client, in memory of
// their own: those that servers can be told, and those that the tenant's policy requires.
func keptCapabilities(c protocol.ClientCapabilities,
	required []string) protocol.ClientCapabilities {
	k := client.PassableCapabilities(c)
	for _, capability := range required {
		if settings, ok := c.Settings(capability); ok && !k.Has(capability) {
			k = k.With(capability, settings)
		}
	}
	return k.Clone()
}

// start requests a session and waits until it has its actor.
func (h *Edge) start(ctx context.Context, r session.OpenRequest) (*session.Handle, error) {
	if err := h.TenantDown(r.Endpoint.Tenant); err != nil { // an embedded host is not checked before
		return nil, err
	}
	if full := h.Ledger.Account(r.Endpoint.Tenant).CheckBegin(); full != nil {
		return nil, full.ClientError()
	}
	start, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	s, err := otp.Do[session.OpenRequest, *session.Handle](start, h.Sessions(), r)
	return s, sessionError(r.Endpoint.Tenant, err)
}

// sessionError returns the error for a client that gets no session. The client may try again when
// the session manager is paused or busy, or refuses a tenant whose messages crash it.
func sessionError(tenant string, err error) error {
	switch {
	case errors.Is(err, otp.ErrOriginRefused):
		return session.Shunned(tenant, err)
	case errors.Is(err, otp.ErrNoProc), errors.Is(err, context.DeadlineExceeded):
		return protocol.Starting("the host's session manager", second)
	case errors.Is(err, otp.ErrOverloaded):
		return protocol.Overloaded("the host's session manager", second)
	}
	return err
}

// Lookup finds a session that began with a handshake, at this endpoint and of this principal. It
// returns streamable.ErrNoSession for any other id.
func (h *Edge) Lookup(_ context.Context, ep streamable.Endpoint,
	id string) (streamable.Session, error) {
	s, ok := h.Index.Get(id)
	if !ok || s.Endpoint() != ep || s.Record() == nil || s.Closed() || s.IsPeer() ||
		s.Negotiated() != nil {
		return nil, streamable.ErrNoSession
	}
	s.Wake()
	return s, nil
}

// Channels reports whether a principal has an HTTP+SSE session at an endpoint.
func (h *Edge) Channels(ep streamable.Endpoint) bool { return h.Index.Channels(ep) }

// openTime bounds the start of a session's actor. Normally a start takes microseconds.
const openTime = 10 * second
