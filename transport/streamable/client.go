package streamable

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// The bounds of a Client.
const (
	// MaxPosts bounds the requests of one client that wait for their answers; each holds an HTTP connection or stream.
	MaxPosts = 256
	// MaxNotices bounds the notifications and answers on their way. They have places of their own, so that requests which hang cannot keep
	// a cancellation from being sent.
	MaxNotices = 64
	// noticeTime is how long a server may take to accept a notification. It has nothing to do for that but say so.
	noticeTime = 30 * time.Second
	// clientQueue is how many inbound messages wait for Recv: what arrives while its caller is on its way back. When it is full the client
	// stops reading its streams, which makes the server wait, so a longer one would only take memory, in each client.
	clientQueue = 16
	// lostTime is how long, after the session was found lost, other requests may find out for themselves that they were not executed.
	lostTime = time.Second
	// sessionTime is how long a server may take to say whether it knows our session.
	sessionTime = 5 * time.Second
	// farewellTime bounds the DELETE of Close, and flushNotices the wait before it for notices on their way.
	farewellTime = 2 * time.Second
	flushNotices = 200 * time.Millisecond
)

// ClientOptions are what a Client is made from.
type ClientOptions struct {
	// URL is the endpoint, http or https. It holds no user information: credentials are a header.
	URL string
	// Header goes with every request. Only these, and those of MCP, are sent.
	Header http.Header
	// Transport sends the requests; it should be shared by the clients of one server. Nil makes one with NewTransport that ends with the
	// client.
	Transport http.RoundTripper
	// MaxMessage bounds one message of the server, in bytes. 0 is protocol.MaxUpstreamMessage.
	MaxMessage int
	// MaxDepth and MaxMembers bound what is nested in one, and the members of one object. 0 is
	// protocol.MaxAnswerDepth and protocol.MaxAnswerMembers.
	MaxDepth, MaxMembers int
	// Queued is called when the bytes of a message begin to wait for the server to take them, and with a
	// negative number when they are let go of. It must not wait, and may be nil.
	Queued func(bytes int)
	// Room is what answers need until their clients have read them. Nil has no bound.
	Room *transport.Room
	// Dialect is what is known of the server; it should be shared by its clients. Nil is one of the client's own.
	Dialect *Dialect
}

// Client is an upstream connection over Streamable HTTP: with a session in the revisions that have them, one request after another without
// in the later ones. To a server of HTTP+SSE it is one stream, for as long as that lasts. Any number may call its methods at once.
type Client struct {
	url       *url.URL
	given     http.Header // of the options
	transport http.RoundTripper
	own       *Transport // the same, if it ends with us
	limits    jsonrpc.Limits
	dialect   *Dialect
	room      *transport.Room
	queued    func(bytes int)
	known     bool                    // that the server speaks HTTP+SSE, before anything was sent
	inbox     atomic.Pointer[url.URL] // where to post, of a server of HTTP+SSE that has said so; nil for any other

	in       chan arrival
	takes    func(transport.Inbound) bool // what Answers was given; nil for nothing
	unread   atomic.Int64                 // what was delivered, until Recv is called for what comes after it
	returned bool                         // Recv has returned something; Recv alone has it
	handling chan struct{}                // of what Recv has returned last; Recv alone has it
	posts    chan struct{}                // holds a token for each goroutine that carries a request
	notices  chan struct{}                // likewise for the rest
	standing chan struct{}                // likewise for the one that reads the standing stream
	door     chan struct{}                // holds a token for whoever is in Close
	resting  chan struct{}                // holds a token for whoever rests
	answers  chan struct{}                // holds a token when the server has answered a request lately
	version  atomic.Uint32                // protocol.Version
	dress    atomic.Pointer[dress]
	mirrored func(tool string) []headers.Mirror
	all      context.Context
	endAll   context.CancelFunc // ends everything
	calls    context.Context
	endCalls context.CancelFunc // ends streams: see giveUp
	over     chan struct{}      // closed when the connection has ended by itself; guards overErr
	overErr  error

	mu       sync.Mutex // guards what follows
	session  string
	next     chan struct{} // closed when that is replaced; nil where the server has never done so
	gate     chan struct{} // closed when what is sent may go; nil before notifications/initialized
	behind   chan struct{} // closed when the server has taken the last notification; nil before there is one
	inFlight map[jsonrpc.ID]*flight
	joining  bool // the stream of HTTP+SSE was asked for
	closing  bool
	left     bool        // the session outlives this connection: see Leave
	lost     *time.Timer // ends the connection; nil while the session lives
}

var _ transport.Upstream = (*Client)(nil)

// NewClient checks the options. It sends nothing.
func NewClient(o ClientOptions) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("url: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("url %q is not that of an http or https server", u.Redacted())
	case u.User != nil:
		return nil, fmt.Errorf("url %q holds credentials: they belong in a header", u.Redacted())
	}
	u.Fragment = ""
	if err := checkHeader(o.Header); err != nil {
		return nil, err
	}
	c := &Client{
		url:       u,
		given:     o.Header.Clone(),
		transport: o.Transport,
		limits:    protocol.UpstreamLimits(),
		in:        make(chan arrival, clientQueue),
		posts:     make(chan struct{}, MaxPosts),
		notices:   make(chan struct{}, MaxNotices),
		standing:  make(chan struct{}, 1),
		door:      make(chan struct{}, 1),
		resting:   make(chan struct{}, 1),
		answers:   make(chan struct{}, 1),
		over:      make(chan struct{}),
		inFlight:  map[jsonrpc.ID]*flight{},
		dialect:   o.Dialect,
		room:      o.Room,
		queued:    o.Queued,
	}
	if c.queued == nil {
		c.queued = func(int) {}
	}
	if c.dialect == nil {
		c.dialect = &Dialect{}
	}
	c.known = c.dialect.sse.Load()
	c.limits.Depth, c.limits.Keys = cmp.Or(o.MaxDepth, c.limits.Depth), cmp.Or(o.MaxMembers, c.limits.Keys)
	if o.MaxMessage > 0 {
		c.limits.Bytes = o.MaxMessage
	}
	if c.transport == nil {
		c.own = NewTransport(nil)
		c.transport = c.own
	}
	c.all, c.endAll = context.WithCancel(context.Background())
	c.calls, c.endCalls = context.WithCancel(c.all)
	return c, nil
}

// stateless reports whether requests stand alone, in the revision that is spoken.
func (c *Client) stateless() bool { return c.has(protocol.PerRequestMeta) }

// run starts a goroutine that holds a place. A panic in it ends this connection, not the process.
func (c *Client) run(places chan struct{}, f func()) {
	go func() { // owner: the client, whose Close takes all places
		defer func() { <-places }()
		defer func() {
			if r := recover(); r != nil {
				c.finish(fmt.Errorf("streamable client: panic: %v", r))
			}
		}()
		f()
	}()
}

// lose notes that the session is gone. Requests on their way get a moment to find out the same.
func (c *Client) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost != nil || c.closing {
		return
	}
	wait := lostTime
	if len(c.inFlight) == 0 {
		wait = 0
	}
	c.lost = time.AfterFunc(wait, func() { c.finish(ErrSessionLost) })
}

// finish ends the connection from within.
func (c *Client) finish(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isOver() {
		return
	}
	c.overErr = err
	close(c.over)
	c.giveUp()
}

// isOver reports whether the connection has ended by itself. The mutex is held.
func (c *Client) isOver() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// Negotiated adds the version header to what is sent from now on, in the revisions that have it.
func (c *Client) Negotiated(v protocol.Version) { c.version.Store(uint32(v)) }

func (c *Client) has(f protocol.Feature) bool { return protocol.Version(c.version.Load()).Has(f) }

// Info names the endpoint.
func (c *Client) Info() transport.Info {
	shown := url.URL{Scheme: c.url.Scheme, Host: c.url.Host, Path: c.url.Path}
	if c.known || c.inbox.Load() != nil {
		return transport.Info{Transport: transport.SSE, URL: shown.String()}
	}
	return transport.Info{Transport: "streamable", URL: shown.String(), Stateless: c.current() == ""}
}

// Close gives up what is on its way, ends the session with DELETE, which a server may refuse, unless it was left, and waits for its goroutines within ctx.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closing = true
	session := c.session
	c.session = ""
	if c.lost != nil {
		c.lost.Stop()
	}
	if c.lost != nil || c.left {
		session = ""
	}
	c.giveUp()
	c.mu.Unlock()
	select {
	case c.door <- struct{}{}:
		defer func() { <-c.door }()
	case <-ctx.Done():
		return fmt.Errorf("streamable client: close: %w", ctx.Err())
	}
	flush, cancel := context.WithTimeout(ctx, flushNotices)
	takeAll(flush, c.notices) // such as cancellations that the owner has just sent
	cancel()
	if session != "" {
		c.delete(ctx, session)
	}
	c.endAll()
	for _, places := range []chan struct{}{c.posts, c.notices, c.standing} {
		if !takeAll(ctx, places) {
			return fmt.Errorf("streamable client: requests still running: %w", ctx.Err())
		}
	}
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}

// takeAll waits until all places are free at once, or ctx ends. Places that are free are taken even then.
func takeAll(ctx context.Context, places chan struct{}) bool {
	taken := 0
	defer func() {
		for range taken {
			<-places
		}
	}()
	for ; taken < cap(places); taken++ {
		select {
		case places <- struct{}{}:
			continue
		default:
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
