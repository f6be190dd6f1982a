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
	// DefaultKeepAlive is how long a response may be silent. Proxies commonly cut a connection after 30 or 60 s of silence.
	DefaultKeepAlive = 15 * time.Second
	// DefaultStall is how long a write may make no progress before the client counts as gone.
	DefaultStall = 10 * time.Second
	// DefaultStreamAge is how long a GET stream lasts before the client is asked to reconnect, which lets load move between processes.
	DefaultStreamAge = time.Hour
	// DefaultRetry is what clients are told to wait before they reconnect after a loss.
	DefaultRetry = time.Second
	// retrySpread is added to it at random when many clients are sent away at once, so that they do not return at once.
	retrySpread = 4 * time.Second
)

// Options configures a Handler. Host is required; of the rest, zero fields mean the defaults.
type Options struct {
	Host Host
	// Closing says why no session is opened, and nil while they are. Nil is never.
	Closing func() *protocol.Error
	// Store is only for what belongs to no session: those of the sessions come from the Host. Default: one of its own.
	Store *Store
	// Admission is what is let in now; it is asked for with each request. Nil is always what the next three say.
	Admission func() *Admission
	// Hosts are the names, with or without port, that a Host header may have. Default: the loopback names. Nothing else keeps a web
	// page from reaching a host on loopback by a name of its own that resolves there (DNS rebinding).
	Hosts []string
	// Origins are the web origins, as "https://app.example", that may call beside the host's own.
	Origins []string
	// Bounds are those of a request.
	Bounds Bounds
	// KeepAlive, Stall, StreamAge and Retry: see the defaults.
	KeepAlive, Stall, StreamAge, Retry time.Duration
	// Refused is told of each request that was refused, with the tenant whose it was, empty where
	// that was not known yet, a word from a closed list and the status of the answer. It must
	// return at once.
	Refused func(r *http.Request, tenant, reason string, status int)
	// Cut is told of each stream of a tenant's that was cut because its client did not read. It must return at once.
	Cut func(tenant string)
	// Room is where the answers of an endpoint wait until their clients have read them. Nil has no bound anywhere.
	Room func(Endpoint) *transport.Room
	// Bodies is where the large requests of an endpoint's tenant are while they are read. Nil has no
	// bound anywhere.
	Bodies func(Endpoint) *transport.Room
	// Reserve counts more bytes of such a request for the tenant until release is called, beside those
	// that the request had counted before. A nil release says that the tenant may not have them now:
	// then either the caller asks again, or full is what its client is told. Nil counts nothing.
	Reserve func(ep Endpoint, had, more int, again bool) (release func(), full string)
	// Beyond counts n bytes of such a request that has no room, for the one of a tenant at a time that
	// is read all the same; first says that it has no such bytes yet. A nil release says that another
	// is read so. Nil is never.
	Beyond func(ep Endpoint, n int, first bool) (release func())
	// Dropped is told of notifications that a tenant's client was not given because it reads slower than they came. It must return at once.
	Dropped func(tenant string, notifications int)
}

// LoopbackHosts are the names by which a machine calls itself.
func LoopbackHosts() []string { return []string{"localhost", "127.0.0.1", "[::1]"} }

// Handler serves MCP over Streamable HTTP and HTTP+SSE, on any path: what a path means is the Host's to say.
type Handler struct {
	options  Options
	channels channels
	browsers browsers
	returns  returns
	silences silences // of POSTs without an answer
	openings silences // of those that are the first of their sessions
	drain    chan struct{}
	drained  sync.Once
}

// NewHandler makes a Handler. It starts nothing.
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
	if o.Cut == nil {
		o.Cut = func(string) {}
	}
	if o.Room == nil {
		o.Room = func(Endpoint) *transport.Room { return nil }
	}
	if o.Bodies == nil {
		o.Bodies = func(Endpoint) *transport.Room { return nil }
	}
	if o.Beyond == nil {
		o.Beyond = func(Endpoint, int, bool) func() { return nil }
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
		silences: silences{clock: clock, most: o.KeepAlive}, openings: silences{clock: clock, most: openingSilence},
	}
}

// Drain ends the GET streams politely, telling each client when to come back, and refuses new ones. Answers to POSTs go on until they are
// complete: http.Server.Shutdown waits for them. It is idempotent and does not wait, and like Shutdown it is final: a server that is
// started anew needs a new Handler, which costs nothing.
func (h *Handler) Drain() { h.drained.Do(func() { close(h.drain) }) }

// ServeHTTP implements http.Handler. What is decided on the way is off the stack when the request is served: a stream may be idle for days.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	serve, ep, refuse := h.admit(w, r)
	switch {
	case serve != nil:
		serve(h, w, r, ep)
	case refuse != nil:
		AnswerUnread(w, r, refuse)
	}
}

type door func(*Handler, http.ResponseWriter, *http.Request, Endpoint)

// admit finds what serves a request, or what refuses it. Neither means that it is answered. What can be refused early is, in this order: the shape of the
// request, Host, Origin, method; then the endpoint and the caller; then the headers of the method; then the body; then what the message is.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) (serve door, ep Endpoint, refuse func()) {
	if r.ContentLength != 0 { // also when nobody reads it: the rest is discarded
		deadline(w).SetReadDeadline(time.Now().Add(h.options.Admission().bounds.BodyTime))
	}
	known, by := h.recall(r)
	if known != nil {
		if err := h.options.Host.(Recaller).Enter(r, known.ep); err != nil {
			return nil, ep, h.noEntry(w, r, err)
		}
		return (*Handler).postKnown, known.ep, nil
	}
	fields := len(r.Header)
	for _, check := range edge {
		if f, detail := check(h, r); f != accepted {
			return nil, ep, func() { h.refuse(w, r, Endpoint{}, f, jsonrpc.ID{}, detail) }
		}
	}
	if h.crossOrigin(w, r) {
		return nil, ep, nil
	}
	ep, at, err := h.options.Host.Route(r)
	if err != nil {
		return nil, Endpoint{}, h.noEntry(w, r, err)
	}
	if at == Streamable {
		h.learn(r, by, fields, ep)
	}
	if at == Events && r.Method == http.MethodPost && r.URL.Query().Has("ticket") {
		at = Messages
	}
	if serve = doors[at][r.Method]; serve == nil {
		w.Header().Set("Allow", allowed[at])
		of := ep
		return nil, of, func() {
			h.refuse(w, r, of, badMethod, jsonrpc.ID{}, "method "+r.Method+" is not allowed here")
		}
	}
	return serve, ep, nil
}

// noEntry refuses a request whose endpoint or caller is none, or that has come too soon.
func (h *Handler) noEntry(w http.ResponseWriter, r *http.Request, err *protocol.Error) func() {
	if err.Condition == protocol.ConditionOverloaded && !claimed(r) {
		last(w, r) // there is no room for the connection
	}
	return func() { h.refuseError(w, r, Endpoint{}, err, 0, jsonrpc.ID{}) }
}

// doors says what is done behind each, by method.
var doors = []map[string]door{
	Streamable: {http.MethodPost: (*Handler).post, http.MethodGet: (*Handler).get, http.MethodDelete: (*Handler).delete},
	Events:     {http.MethodGet: (*Handler).channel},
	Messages:   {http.MethodPost: (*Handler).message},
}

// spread is a retry hint for one of many clients that are sent away together.
func (h *Handler) spread() time.Duration { return h.options.Retry + rand.N(retrySpread) }
