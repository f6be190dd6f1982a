package streamable

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

const (
	// DefaultKeepAlive is how long a response may be silent. Proxies commonly close a connection after
	// 30 or 60 s of silence.
	DefaultKeepAlive = 15 * time.Second
	// DefaultStall is how long a write may make no progress before the client counts as gone.
	DefaultStall = 10 * time.Second
	// DefaultStreamAge is how long a GET stream lasts before the client is asked to reconnect.
	// Reconnecting lets load move between processes.
	DefaultStreamAge = time.Hour
	// DefaultRetry is the delay that clients are told to wait before they reconnect after a lost
	// connection.
	DefaultRetry = time.Second
	// retrySpread is the range of the random delay that is added to Options.Retry when many clients
	// are disconnected at once. It keeps them from all reconnecting at the same moment.
	retrySpread = 4 * time.Second
)

// Options configures a Handler. Host is required. A zero value of any other field means its
// default.
type Options struct {
	Host Host
	// Closing returns the error for requests that would open a session while no new sessions are
	// opened, and nil while sessions are opened. A nil Closing always opens sessions.
	Closing func() *protocol.Error
	// Store holds only the streams that belong to no session: the Host provides those of the sessions.
	// Default: a new Store.
	Store *Store
	// Admission returns the current checks for requests and is called for each request. Nil means that
	// Hosts, Origins and Bounds always apply.
	Admission func() *Admission
	// Hosts are the names, with or without port, that a Host header may have. Default: the loopback
	// names. This check is the only protection of a host on loopback against DNS rebinding, where a
	// web page uses its own domain name that resolves to loopback.
	Hosts []string
	// Origins are the web origins, such as "https://app.example", that may call in addition to the
	// host's own origin.
	Origins []string
	// Bounds are the limits of a request.
	Bounds Bounds
	// KeepAlive, Stall, StreamAge and Retry override DefaultKeepAlive, DefaultStall, DefaultStreamAge
	// and DefaultRetry.
	KeepAlive, Stall, StreamAge, Retry time.Duration
	// Refused is told of each refused request: the tenant (empty if it was not yet known), a reason
	// from a closed list of words, and the status of the answer. It must return at once.
	Refused func(r *http.Request, tenant, reason string, status int)
	// Stalled is told of each stream of a tenant that was closed because its client did not read. It
	// must return at once.
	Stalled func(tenant string)
	// Room returns the byte budget for answers of an endpoint that wait for their clients to read
	// them. Nil sets no limit.
	Room func(Endpoint) *transport.ByteBudget
	// BodyRoom returns the byte budget for large requests of an endpoint's tenant while they are read.
	// Nil sets no limit.
	BodyRoom func(Endpoint) *transport.ByteBudget
	// Reserve reserves more bytes of such a request for the tenant until release is called, in
	// addition to the had bytes that the request has reserved before. A nil release means that the
	// tenant may not have the bytes now. again says that the caller can try again later; otherwise
	// full is the error text for its client. A nil Reserve counts nothing.
	Reserve func(ep Endpoint, had, more int, again bool) (release func(), full string)
	// ReserveOverLimit reserves n bytes of a request for which the tenant has no budget left. One such
	// request at a time is read for each tenant. first says that this request has no such bytes yet. A
	// nil release means that another request of the tenant has this place. A nil ReserveOverLimit
	// never allows it.
	ReserveOverLimit func(ep Endpoint, n int, first bool) (release func())
	// Dropped is told of notifications that were dropped because a tenant's client reads more slowly
	// than they arrived. It must return at once.
	Dropped func(tenant string, notifications int)
}

// LoopbackHosts returns the names by which a machine addresses itself.
func LoopbackHosts() []string { return []string{"localhost", "127.0.0.1", "[::1]"} }

// Handler serves MCP over Streamable HTTP and HTTP+SSE, on any path. The Host decides what each
// path means.
type Handler struct {
	options         Options
	channels        sseChannels
	browsers        browsers
	reconnects      reconnects
	silences        keepAliveTimers // POSTs without an answer
	openingSilences keepAliveTimers // POSTs without an answer that are the first of their sessions
	drain           chan struct{}
	drained         sync.Once
}

// NewHandler returns a Handler. It starts no goroutines.
func NewHandler(o Options) *Handler {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.KeepAlive, DefaultKeepAlive}, {&o.Stall, DefaultStall}, {&o.StreamAge, DefaultStreamAge},
		{&o.Retry, DefaultRetry},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	if o.Store == nil {
		o.Store = NewStore(StoreOptions{})
	}
	if o.Admission == nil {
		admission := NewAdmission(o.Hosts, o.Origins, o.Bounds)
		o.Admission = func() *Admission { return admission }
	}
	if o.Closing == nil {
		o.Closing = func() *protocol.Error { return nil }
	}
	if o.Refused == nil {
		o.Refused = func(*http.Request, string, string, int) {}
	}
	if o.Stalled == nil {
		o.Stalled = func(string) {}
	}
	if o.Room == nil {
		o.Room = func(Endpoint) *transport.ByteBudget { return nil }
	}
	if o.BodyRoom == nil {
		o.BodyRoom = func(Endpoint) *transport.ByteBudget { return nil }
	}
	if o.ReserveOverLimit == nil {
		o.ReserveOverLimit = func(Endpoint, int, bool) func() { return nil }
	}
	if o.Reserve == nil {
		o.Reserve = func(Endpoint, int, int, bool) (func(), string) { return func() {}, "" }
	}
	if o.Dropped == nil {
		o.Dropped = func(string, int) {}
	}
	clock := o.Store.options.Clock
	return &Handler{
		options: o, drain: make(chan struct{}),
		silences:        keepAliveTimers{clock: clock, most: o.KeepAlive},
		openingSilences: keepAliveTimers{clock: clock, most: openingKeepAlive},
	}
}

// Drain ends the GET streams gracefully: it tells each client when to reconnect, and refuses new
// streams. Answers to POSTs continue until they are complete, and http.Server.Shutdown waits for
// them. Drain is idempotent, does not wait and, like Shutdown, is final: a restarted server needs a
// new Handler, which is cheap.
func (h *Handler) Drain() { h.drained.Do(func() { close(h.drain) }) }

// ServeHTTP implements http.Handler. It runs admit and the actual service as separate calls so that
// the stack frames of admit are gone while the request is served: a stream may be idle for days.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	serve, ep, refuse := h.admit(w, r)
	switch {
	case serve != nil:
		serve(h, w, r, ep)
	case refuse != nil:
		AnswerUnread(w, r, refuse)
	}
}

type serveFunc func(*Handler, http.ResponseWriter, *http.Request, Endpoint)

// admit finds the function that serves a request, or the one that refuses it. If both are nil, the
// request has been answered. Checks run in this order, so that bad requests are refused early: the
// shape of the request, Host, Origin, method; then the endpoint and the caller; then the headers of
// the method; then the body; then the kind of the message.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) (serve serveFunc, ep Endpoint,
	refuse func()) {
	// The deadline applies even if no handler reads the body: the server discards the rest of it.
	if r.ContentLength != 0 {
		deadline(w).SetReadDeadline(time.Now().Add(h.options.Admission().bounds.BodyTime))
	}
	known, by := h.cachedHead(r)
	if known != nil {
		if err := h.options.Host.(Recaller).Enter(r, known.ep); err != nil {
			return nil, ep, h.noEntry(w, r, err)
		}
		return (*Handler).postKnown, known.ep, nil
	}
	fields := len(r.Header)
	for _, check := range edgeChecks {
		if f, detail := check(h, r); f != accepted {
			return nil, ep, func() { h.refuse(w, r, Endpoint{}, f, jsonrpc.ID{}, detail) }
		}
	}
	if h.handleCORS(w, r) {
		return nil, ep, nil
	}
	ep, at, err := h.options.Host.Route(r)
	if err != nil {
		return nil, Endpoint{}, h.noEntry(w, r, err)
	}
	if at == Streamable {
		h.cacheHead(r, by, fields, ep)
	}
	if at == Events && r.Method == http.MethodPost && r.URL.Query().Has("ticket") {
		at = Messages
	}
	if serve = routes[at][r.Method]; serve == nil {
		w.Header().Set("Allow", allowedMethods[at])
		of := ep
		return nil, of, func() {
			h.refuse(w, r, of, badMethod, jsonrpc.ID{}, "method "+r.Method+" is not allowed here")
		}
	}
	return serve, ep, nil
}

// noEntry refuses a request that has no valid endpoint or caller, or that exceeds a rate limit.
func (h *Handler) noEntry(w http.ResponseWriter, r *http.Request, err *protocol.Error) func() {
	if err.Condition == protocol.ConditionOverloaded && !claimed(r) {
		closeAfter(w, r) // there is no room for the connection
	}
	return func() { h.refuseError(w, r, Endpoint{}, err, 0, jsonrpc.ID{}) }
}

// routes maps each route kind and method to the function that serves it.
var routes = []map[string]serveFunc{
	Streamable: {http.MethodPost: (*Handler).post, http.MethodGet: (*Handler).get,
		http.MethodDelete: (*Handler).delete},
	Events:   {http.MethodGet: (*Handler).channel},
	Messages: {http.MethodPost: (*Handler).message},
}

// retryDelay returns a retry delay for one of many clients that are disconnected together.
func (h *Handler) retryDelay() time.Duration { return h.options.Retry + rand.N(retrySpread) }
