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

// Limits of a Client.
const (
	// MaxPosts limits the requests of one client that wait for their answers. Each holds an HTTP
	// connection or stream.
	MaxPosts = 256
	// MaxNotices limits the notifications and answers of the client that are being sent. They have
	// their own limit, so that requests that hang cannot block a cancellation.
	MaxNotices = 64
	// noticeTime is how long a server may take to accept a notification. The server only has to
	// acknowledge it.
	noticeTime = 30 * time.Second
	// clientQueue is the number of received messages that are buffered for Recv, while its caller
	// processes the previous one. When the buffer is full, the client stops reading its streams, which
	// causes back-pressure on the server. A longer buffer would only take more memory in each client.
	clientQueue = 16
	// lostTime is how long other requests may continue after the session was found lost, so that they
	// can learn that they were not executed.
	lostTime = time.Second
	// sessionTime is how long a server may take to answer if it knows our session.
	sessionTime = 5 * time.Second
	// farewellTime limits the DELETE of Close, and flushNotices the preceding wait for notices that
	// are being sent.
	farewellTime = 2 * time.Second
	flushNotices = 200 * time.Millisecond
)

// ClientOptions configures a Client.
type ClientOptions struct {
	// URL is the endpoint, http or https. It contains no user information: credentials belong in a
	// header.
	URL string
	// Header is sent with every request. Only these headers and those of MCP are sent.
	Header http.Header
	// Transport sends the requests. The clients of one server should share it. Nil creates one with
	// NewTransport, which is closed with the client.
	Transport http.RoundTripper
	// MaxMessage is the maximum size of a message of the server, in bytes. 0 means
	// protocol.MaxUpstreamMessage.
	MaxMessage int
	// MaxDepth and MaxMembers limit the nesting depth of a message, and the members of one object. 0
	// means protocol.MaxUpstreamDepth and protocol.MaxUpstreamMembers.
	MaxDepth, MaxMembers int
	// Queued is called with the size of a message when it begins to wait for the server to accept it,
	// and with the negative size when it no longer waits. It must not block, and may be nil.
	Queued func(bytes int)
	// Room is the byte budget for answers until their clients have read them. Nil sets no limit.
	Room *transport.ByteBudget
	// Dialect stores the transport that the server was found to use. The clients of one server should
	// share it. Nil means that the client uses its own.
	Dialect *Dialect
}

// Client is a connection to a server over Streamable HTTP. It has a session in the revisions with
// sessions, and sends independent requests in later ones. For a server of HTTP+SSE it consists of
// one stream and lasts as long as that. Its methods are safe for concurrent use.
type Client struct {
	url       *url.URL
	given     http.Header // from the options
	transport http.RoundTripper
	own       *Transport // equals transport if the client owns it
	limits    jsonrpc.Limits
	dialect   *Dialect
	budget    *transport.ByteBudget
	queued    func(bytes int)
	knownSSE  bool // the server was known to use HTTP+SSE before anything was sent
	// inbox is the address for POSTs, once a server of HTTP+SSE has stated it; nil for any other
	// server.
	inbox atomic.Pointer[url.URL]

	in    chan received
	takes func(transport.Inbound) bool // callback given to Answers; nil for none
	// messages delivered to Recv and not yet processed by its caller
	unread      atomic.Int64
	returned    bool          // Recv has returned something; used by Recv only
	handling    chan struct{} // signals that the last result of Recv was processed; used by Recv only
	posts       chan struct{} // holds a token for each goroutine that carries a request
	notices     chan struct{} // likewise for notifications and answers
	standing    chan struct{} // likewise for the goroutine that reads the standalone stream
	closeLock   chan struct{} // holds a token while a call of Close runs
	rateLimited chan struct{} // holds a token while a reader is rate-limited
	answers     chan struct{} // holds a token if the server has recently answered a request
	version     atomic.Uint32 // protocol.Version
	template    atomic.Pointer[requestTemplate]
	mirrored    func(tool string) []headers.Mirror
	all         context.Context
	endAll      context.CancelFunc // cancels everything
	calls       context.Context
	endCalls    context.CancelFunc // cancels streams: see cancelAll
	over        chan struct{}      // closed when the connection has ended by itself; guards overErr
	overErr     error

	mu      sync.Mutex // guards the rest
	session string
	// closed when session is replaced; nil if the server has never replaced it
	sessionReplaced chan struct{}
	// closed when messages may be sent; nil before notifications/initialized
	gate chan struct{}
	// lastNotice is closed when the server has accepted the last notification, or did not within
	// standaloneWait; nil before there is a notification.
	lastNotice chan struct{}
	inFlight   map[jsonrpc.ID]*inFlight
	joining    bool // the stream of HTTP+SSE was requested
	closing    bool
	left       bool        // the session outlives this connection: see Leave
	lost       *time.Timer // ends the connection; nil while the session is valid
}

var _ transport.Upstream = (*Client)(nil)

// NewClient checks the options and returns a Client. It sends nothing.
func NewClient(o ClientOptions) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("url: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("url %q is not an http or https URL", u.Redacted())
	case u.User != nil:
		return nil, fmt.Errorf("url %q contains credentials: put them into a header", u.Redacted())
	}
	u.Fragment = ""
	if err := checkHeader(o.Header); err != nil {
		return nil, err
	}
	c := &Client{
		url:         u,
		given:       o.Header.Clone(),
		transport:   o.Transport,
		limits:      protocol.UpstreamLimits(),
		in:          make(chan received, clientQueue),
		posts:       make(chan struct{}, MaxPosts),
		notices:     make(chan struct{}, MaxNotices),
		standing:    make(chan struct{}, 1),
		closeLock:   make(chan struct{}, 1),
		rateLimited: make(chan struct{}, 1),
		answers:     make(chan struct{}, 1),
		over:        make(chan struct{}),
		inFlight:    map[jsonrpc.ID]*inFlight{},
		dialect:     o.Dialect,
		budget:      o.Room,
		queued:      o.Queued,
	}
	if c.queued == nil {
		c.queued = func(int) {}
	}
	if c.dialect == nil {
		c.dialect = &Dialect{}
	}
	c.knownSSE = c.dialect.sse.Load()
	c.limits.Depth, c.limits.Keys = cmp.Or(o.MaxDepth, c.limits.Depth), cmp.Or(o.MaxMembers,
		c.limits.Keys)
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

// stateless reports whether the negotiated revision has stateless requests.
func (c *Client) stateless() bool { return c.has(protocol.PerRequestMeta) }

// run starts a goroutine that holds a token of places. A panic in it ends this connection, not the
// process.
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

// lose records that the session is lost. Requests in flight get a moment to find that out
// themselves.
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
	c.cancelAll()
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

// Negotiated adds the version header to all later requests, in the revisions that have it.
func (c *Client) Negotiated(v protocol.Version) { c.version.Store(uint32(v)) }

func (c *Client) has(f protocol.Feature) bool { return protocol.Version(c.version.Load()).Has(f) }

// Info describes the endpoint.
func (c *Client) Info() transport.Info {
	shown := url.URL{Scheme: c.url.Scheme, Host: c.url.Host, Path: c.url.Path}
	if c.knownSSE || c.inbox.Load() != nil {
		return transport.Info{Transport: transport.SSE, URL: shown.String()}
	}
	return transport.Info{Transport: "streamable", URL: shown.String(), Stateless: c.current() == ""}
}

// Close cancels everything in flight, ends the session with DELETE unless Leave was called, and
// waits for the goroutines of the client within ctx. A server may refuse the DELETE.
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
	c.cancelAll()
	c.mu.Unlock()
	select {
	case c.closeLock <- struct{}{}:
		defer func() { <-c.closeLock }()
	case <-ctx.Done():
		return fmt.Errorf("streamable client: close: %w", ctx.Err())
	}
	flush, cancel := context.WithTimeout(ctx, flushNotices)
	takeAll(flush, c.notices) // such as cancellations that the caller has just sent
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

// takeAll waits until all places are free at the same time, or ctx ends. It takes free places even
// after ctx has ended.
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
