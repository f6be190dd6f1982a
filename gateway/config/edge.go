package config

import "time"

// Edge bounds what any client may do to the MCP listener.
type Edge struct {
	AddressConnections int // connections of one address; 0 for no bound
	// HeaderTime bounds the TLS handshake, and after it the header fields.
	HeaderTime time.Duration
	IdleTime   time.Duration // how long an unused connection is kept
	// BodyTime is how long a body may take, however slowly it arrives.
	BodyTime      time.Duration
	HeaderBytes   int64
	Headers       int
	URL           int64
	Depth         int // nesting of JSON
	Tokens        int
	Members       int
	AnswerDepth   int
	AnswerMembers int
	Batch         int   // messages of one array
	ID            int64 // bytes of a request's id
	HTTP2Streams  int
	Failures      int // failed authentications of one address in a minute

	Streams int // GET streams of one session
	// StreamEvents bounds the events that wait for a client, and those that are kept for its return.
	StreamEvents  int
	StreamBytes   int64 // bytes of the same
	History       int64 // bytes kept for one session
	TotalHistory  int64 // bytes kept for all sessions
	HistoryTime   time.Duration
	StallTime     time.Duration // how long a client may not read
	KeepAliveTime time.Duration // how long a stream may be silent
	StreamAge     time.Duration // how long a GET stream lasts
}

// edgeKeys are the keys of the Edge.
var edgeKeys = []Key{
	{"limits.max_address_connections", count(0, 1_000_000), "0", "", "100", Restart,
		"maximum number of connections from one address, or from one /64 of IPv6, except trusted " +
			"proxies; 0 means no limit",
		func(s scope) any {
			return &s.config.Edge.AddressConnections
		}},
	{"limits.header_timeout", span(10*time.Millisecond, 30*time.Second), "5s", "", "2s", Restart,
		"time limit of the header fields of a request, and of the TLS handshake before the first of them",
		func(s scope) any {
			return &s.config.Edge.HeaderTime
		}},
	{"limits.idle_timeout", span(time.Second, time.Hour), "75s", "", "2m", Restart,
		"how long an unused connection is kept", func(s scope) any { return &s.config.Edge.IdleTime }},
	{"limits.body_timeout", span(10*time.Millisecond, 2*time.Minute), "10s", "", "30s", AtOnce,
		"time limit of the body of a request; a body that arrives faster than 10 KiB/s may take up to 2m",
		func(s scope) any {
			return &s.config.Edge.BodyTime
		}},
	{"limits.max_header", size(8<<10, 128<<10), "32KiB", "", "16KiB", Restart,
		"maximum size of the header fields of a request", func(s scope) any {
			return &s.config.Edge.HeaderBytes
		}},
	{"limits.max_headers", count(20, 1000), "100", "", "50", AtOnce,
		"maximum number of header fields of a request", func(s scope) any {
			return &s.config.Edge.Headers
		}},
	{"limits.max_url", size(1<<10, 128<<10), "8KiB", "", "4KiB", AtOnce,
		"maximum size of the target of a request", func(s scope) any { return &s.config.Edge.URL }},
	{"limits.max_depth", count(8, 256), "64", "", "32", AtOnce,
		"maximum nesting of objects and arrays in a request", func(s scope) any {
			return &s.config.Edge.Depth
		}},
	{"limits.max_tokens", count(1000, 10_000_000), "1048576", "", "100000", AtOnce,
		"maximum number of JSON tokens in a request: names, values, and beginnings and ends of objects " +
			"and arrays", func(s scope) any {
			return &s.config.Edge.Tokens
		}},
	{"limits.max_members", count(100, 100_000), "10000", "", "1000", AtOnce,
		"maximum number of members of one object in a request", func(s scope) any {
			return &s.config.Edge.Members
		}},
	{"limits.max_answer_depth", count(64, 10_000), "1000", "", "100", AtOnce,
		"maximum nesting of objects and arrays in a message of a server; a change applies to new " +
			"connections",
		func(s scope) any {
			return &s.config.Edge.AnswerDepth
		}},
	{"limits.max_answer_members", count(10_000, 2_000_000), "1000000", "", "100000", AtOnce,
		"maximum number of members of one object in a message of a server", func(s scope) any {
			return &s.config.Edge.AnswerMembers
		}},
	{"limits.max_batch", count(1, 200), "50", "", "10", AtOnce,
		"maximum number of messages in a batch, in the revision that has batches", func(s scope) any {
			return &s.config.Edge.Batch
		}},
	{"limits.max_id", size(36, 1<<10), "256B", "", "64B", AtOnce,
		"maximum size of a request's id", func(s scope) any { return &s.config.Edge.ID }},
	{"limits.max_http2_streams", count(1, 250), "100", "", "20", Restart,
		"maximum number of concurrent requests on one HTTP/2 connection", func(s scope) any {
			return &s.config.Edge.HTTP2Streams
		}},
	{"limits.max_auth_failures", count(1, 10_000), "20", "", "100", AtOnce,
		"failed authentications of one address within a minute, after which it has to wait",
		func(s scope) any {
			return &s.config.Edge.Failures
		}},
	{"limits.max_streams", count(1, 256), "8", "", "2", Restart,
		"maximum number of GET streams of one session", func(s scope) any {
			return &s.config.Edge.Streams
		}},
	{"limits.max_stream_events", count(16, 65536), "1024", "", "256", Restart,
		"maximum number of events of one stream that wait for its client, and of those that are kept " +
			"for its return",
		func(s scope) any {
			return &s.config.Edge.StreamEvents
		}},
	{"limits.max_stream_size", size(16<<10, 16<<20), "1MiB", "", "4MiB", Restart,
		"maximum size of these events", func(s scope) any { return &s.config.Edge.StreamBytes }},
	{"limits.max_history", size(16<<10, 1<<30), "4MiB", "", "1MiB", Restart,
		"maximum size of the events that are kept for the return of one session's client",
		func(s scope) any {
			return &s.config.Edge.History
		}},
	{"limits.max_total_history", size(16<<10, 1<<30), "256MiB", "", "64MiB", Restart,
		"maximum size of the events that are kept for all sessions", func(s scope) any {
			return &s.config.Edge.TotalHistory
		}},
	{"limits.history_time", span(time.Second, time.Hour), "5m", "", "10m", Restart,
		"how long these events are kept", func(s scope) any { return &s.config.Edge.HistoryTime }},
	{"limits.stall_timeout", span(100*time.Millisecond, 2*time.Minute), "10s", "", "30s", Restart,
		"how long a client may read nothing of the data that is written to it", func(s scope) any {
			return &s.config.Edge.StallTime
		}},
	{"limits.keep_alive", span(time.Second, 5*time.Minute), "15s", "", "30s", Restart,
		"how long a stream may be silent before a keep-alive is sent", func(s scope) any {
			return &s.config.Edge.KeepAliveTime
		}},
	{"limits.stream_age", span(time.Second, 24*time.Hour), "1h", "", "4h", Restart,
		"how long a GET stream lasts before its client is asked to reconnect", func(s scope) any {
			return &s.config.Edge.StreamAge
		}},
}
