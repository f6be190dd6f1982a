package streamable

import (
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

const (
	// DefaultHeaders is how many header fields a request may have. Browsers send about twenty.
	DefaultHeaders = 100
	// DefaultURL limits the request target, in bytes. The longest useful targets contain one
	// percent-encoded resource URI.
	DefaultURL = 8 << 10
	// DefaultBodyTime is the time that every request body may take. A body that arrives at 10 KiB per
	// second or faster may take longer, up to 2 minutes.
	DefaultBodyTime = 10 * time.Second
)

// Bounds are the limits of a request. Zero fields mean the defaults.
type Bounds struct {
	Headers  int            // number of header fields
	URL      int            // bytes of the request target
	BodyTime time.Duration  // time for every body, see DefaultBodyTime
	Message  jsonrpc.Limits // default: protocol.RequestLimits
}

// Admission decides which requests are accepted. It is immutable, so that one Admission can replace
// another at any time.
type Admission struct {
	hosts   hostNames
	origins originNames
	bounds  Bounds
}

// NewAdmission returns the Admission for hosts, origins and the limits of a request, as documented
// for Options. Nil hosts stands for the loopback names.
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
