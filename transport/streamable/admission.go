package streamable

import (
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

const (
	// DefaultHeaders is how many header fields a request may have. Browsers send some twenty.
	DefaultHeaders = 100
	// DefaultURL bounds the request target. The longest that mean anything hold one percent-encoded resource URI.
	DefaultURL = 8 << 10
	// DefaultBodyTime is how long a request body may take in any case, and with fastEnough how long it may take at all.
	DefaultBodyTime = 10 * time.Second
)

// Bounds are those of a request. Zero fields mean the defaults.
type Bounds struct {
	Headers  int            // header fields
	URL      int            // bytes of the request target
	BodyTime time.Duration  // for the body
	Message  jsonrpc.Limits // default: protocol.RequestLimits
}

// Admission is which requests are let in. It is never changed after it was made, so that one may take the place of another at any time.
type Admission struct {
	hosts   hostNames
	origins originNames
	bounds  Bounds
}

// NewAdmission takes what Options document: hosts, nil for the loopback names, origins, and the bounds of a request.
func NewAdmission(hosts, origins []string, b Bounds) *Admission {
	if hosts == nil {
		hosts = LoopbackHosts()
	}
	if b.Headers <= 0 {
		b.Headers = DefaultHeaders
	}
	if b.URL <= 0 {
		b.URL = DefaultURL
	}
	if b.BodyTime <= 0 {
		b.BodyTime = DefaultBodyTime
	}
	if b.Message.Bytes <= 0 {
		b.Message.Bytes = protocol.RequestLimits().Bytes
	}
	return &Admission{newHostNames(hosts), newOriginNames(origins), b}
}
