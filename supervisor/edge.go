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

// Edge is what the transports serve: it finds out who is calling and for what, and hands them their session. It is no actor, holds no
// state of its own, and is safe for concurrent use.
type Edge struct {
	now      func() *settings
	Failures *quota.Failures
	requests quota.Rates
	openings quota.Rates
	Clock    clock.Clock
	Index    *session.Index
	Kept     *quota.Ledger
	Down     func(tenant string) *protocol.Error // why a tenant does not run; nil while it does
	Closing  func() *protocol.Error              // why no session is opened; nil while they are
	Sessions func() otp.Ref                      // core/session_manager
}

var (
	_ streamable.Host     = (*Edge)(nil)
	_ streamable.Recaller = (*Edge)(nil)
)

// Route finds the endpoint that a path names and who is calling. An unknown tenant, a missing and a wrong key are one refusal; that a
// server does not exist is told to those only who may use the tenant.
func (h *Edge) Route(r *http.Request) (ep streamable.Endpoint, door streamable.Door, refused *protocol.Error) {
	path := h.now().path(r)
	route, ok := tenant.ParsePath(path)
	if !ok {
		if tenant.SeeksAuthorization(path) {
			return ep, door, protocol.NoOAuth()
		}
		return ep, door, protocol.EndpointNotFound()
	}
	ep, refused = h.enter(r, route)
	return ep, doors[route.Kind], refused
}

// doors says what each kind of path is to the transport.
var doors = []streamable.Door{tenant.MCP: streamable.Streamable, tenant.Events: streamable.Events, tenant.Messages: streamable.Messages}

// credentials are what a request says of its sender.
func credentials(r *http.Request) auth.Credentials {
	return auth.Credentials{
		Authorization: r.Header.Values("Authorization"), APIKey: r.Header.Values("X-Api-Key"),
	}
}

// enter authenticates the caller of what a path names.
func (h *Edge) enter(r *http.Request, route tenant.Route) (streamable.Endpoint, *protocol.Error) {
	now := h.now()
	who, err := now.keys.Authenticate(route.Tenant, credentials(r))
	if err != nil {
		return streamable.Endpoint{}, h.refusal(r, err)
	}
	if err := h.opens(r, now, route.Tenant); err != nil {
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
	if err := h.counts(now, route.Tenant, who.Name); err != nil {
		return streamable.Endpoint{}, err
	}
	return streamable.Endpoint{Tenant: route.Tenant, Server: route.Server, Principal: who.Name}, nil
}

// opens asks whether a tenant runs and may have the connection of a request.
func (h *Edge) opens(r *http.Request, now *settings, name string) *protocol.Error {
	if full := streamable.Claim(r, name, now.tenants[name].Limits.MaxConnections); full != "" {
		return &protocol.Error{Condition: protocol.ConditionOverloaded, Message: full, RetryAfter: second}
	}
	return h.Down(name)
}

// counts counts one more request of a principal.
func (h *Edge) counts(now *settings, tenant, principal string) *protocol.Error {
	limits := &now.tenants[tenant].Limits
	if wait := h.requests.Take(h.Clock.Now(), tenant, principal, limits.MaxRate, limits.MaxPrincipalRate); wait > 0 {
		return protocol.RateLimited(wait)
	}
	return nil
}

// Settings implements streamable.Recaller. Keys, servers and the base path are part of the settings,
// and no key expires by itself.
func (h *Edge) Settings() uint64 { return h.now().number }

// Enter implements streamable.Recaller.
func (h *Edge) Enter(r *http.Request, ep streamable.Endpoint) *protocol.Error {
	now := h.now()
	if now.tenants[ep.Tenant] == nil { // a reload took the tenant away since Settings was asked
		return h.refusal(r, auth.ErrUnauthorized)
	}
	if err := h.opens(r, now, ep.Tenant); err != nil {
		return err
	}
	return h.counts(now, ep.Tenant, ep.Principal)
}

// admit counts a session that is about to be opened.
func (h *Edge) admit(ep streamable.Endpoint) error {
	if refused := h.Closing(); refused != nil {
		return refused
	}
	limits := h.now().limits(ep.Tenant)
	if wait := h.openings.Take(h.Clock.Now(), ep.Tenant, ep.Principal, limits.MaxInitializeRate, limits.MaxPrincipalInitializeRate); wait > 0 {
		return protocol.RateLimited(wait)
	}
	return nil
}

// refusal answers who could not be told from anybody else. An address that fails again and again is asked to wait; callers from there
// who have a key are not held up by it. A request without a credential has tried none, so it is no failure: clients that look for
// what a 401 says send one each time they start.
func (h *Edge) refusal(r *http.Request, err error) *protocol.Error {
	if err == auth.ErrUnauthorized && !credentials(r).Given() {
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

// Open makes a session and delivers its initialize.
func (h *Edge) Open(
	ctx context.Context, ep streamable.Endpoint, init jsonrpc.Message, out transport.Sink, on *streamable.Streams,
) (streamable.Session, error) {
	r := session.OpenRequest{Endpoint: ep, Streams: on}
	if on != nil && on.Channel() {
		r.Idle = on.Away() // nothing tells that its client does not come back
	}
	s, err := h.open(ctx, r, init, out)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// OpenPushed is Open for a transport with one channel for everything a client is sent.
func (h *Edge) OpenPushed(
	ctx context.Context, ep streamable.Endpoint, init jsonrpc.Message, out transport.Sink, push func(jsonrpc.Message) error,
) (*session.Handle, error) {
	return h.open(ctx, session.OpenRequest{Endpoint: ep, Push: push}, init, out)
}

func (h *Edge) open(ctx context.Context, r session.OpenRequest, init jsonrpc.Message, out transport.Sink) (*session.Handle, error) {
	if err := h.admit(r.Endpoint); err != nil {
		return nil, err
	}
	s, err := h.start(ctx, r)
	if err != nil {
		return nil, err
	}
	return s, s.Deliver(ctx, init, out)
}

// Policy is the tenant's.
func (h *Edge) Policy(ep streamable.Endpoint) protocol.Negotiation {
	if t := h.now().tenants[ep.Tenant]; t != nil {
		return t.Negotiation
	}
	return protocol.Negotiation{} // a reload took the tenant away; its session manager will say so
}

// Peer finds the session that serves a client which has none, and makes it when it is the first request of its kind.
func (h *Edge) Peer(ctx context.Context, ep streamable.Endpoint, c protocol.Class) (streamable.Peer, error) {
	s, err := h.shared(ctx, ep, session.Peer{Version: c.Version, Capabilities: c.Meta.Capabilities})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// shared is the one session of a peer.
func (h *Edge) shared(ctx context.Context, ep streamable.Endpoint, peer session.Peer) (*session.Handle, error) {
	required := h.now().required[ep.Tenant]
	for _, capability := range required {
		if peer.Capabilities.Has(capability) {
			peer.Meets += capability + " "
		}
	}
	if s, ok := h.Index.Peer(ep, peer); ok && s.Serving() {
		s.Touch()
		return s, nil
	}
	peer.Capabilities = kept(peer.Capabilities, required)
	return h.start(ctx, session.OpenRequest{Endpoint: ep, Peer: &peer})
}

// kept is what a peer keeps of its first client's capabilities, in memory of its own: what servers can
// be told of, and what the tenant's policy asks for.
func kept(c protocol.ClientCapabilities, required []string) protocol.ClientCapabilities {
	k := client.Carried(c)
	for _, capability := range required {
		if settings, ok := c.Settings(capability); ok && !k.Has(capability) {
			k = k.With(capability, settings)
		}
	}
	return k.Clone()
}

// start asks for a session and waits until it has its actor.
func (h *Edge) start(ctx context.Context, r session.OpenRequest) (*session.Handle, error) {
	if err := h.Down(r.Endpoint.Tenant); err != nil { // an embedded host has no other door
		return nil, err
	}
	if full := h.Kept.Of(r.Endpoint.Tenant).Begins(); full != nil {
		return nil, full.Told()
	}
	start, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	s, err := otp.Do[session.OpenRequest, *session.Handle](start, h.Sessions(), r)
	return s, unopened(r.Endpoint.Tenant, err)
}

// unopened is why there is no session, as its client is told. That the session manager is paused or
// busy, or refuses a tenant whose messages crash it, passes.
func unopened(tenant string, err error) error {
	switch {
	case errors.Is(err, otp.ErrShunned):
		return session.Shunned(tenant, err)
	case errors.Is(err, otp.ErrNoProc):
		return protocol.Unready("the host's session manager", second)
	case errors.Is(err, otp.ErrOverloaded):
		return protocol.Overloaded("the host's session manager", second)
	}
	return err
}

// Lookup finds a session that began with a handshake. One of another endpoint or principal is none.
func (h *Edge) Lookup(_ context.Context, ep streamable.Endpoint, id string) (streamable.Session, error) {
	s, ok := h.Index.Get(id)
	if !ok || s.Endpoint() != ep || s.Record() == nil || s.Closed() || s.IsPeer() || s.Terms() != nil {
		return nil, streamable.ErrNoSession
	}
	s.Wake()
	return s, nil
}

// Channels reports whether a principal has a session over HTTP+SSE at an endpoint.
func (h *Edge) Channels(ep streamable.Endpoint) bool { return h.Index.Channels(ep) }

// openTime bounds the start of a session's actor. It takes microseconds; a host that needs seconds for it has other troubles.
const openTime = 10 * second
