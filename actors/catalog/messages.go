package catalog

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// Caller says on whose behalf something is asked. It decides which connection, and so which lists, are meant.
type Caller struct {
	Session      string // the session's row
	Ref          otp.Ref
	Principal    string
	Capabilities protocol.ClientCapabilities
	Server       string // of a transparent endpoint; empty for all servers as one
	Version      protocol.Version
}

// The calls that the catalogue answers. Sessions send them.
type (
	// Connect asks for the caller's connection to a server, started if need be. The answer is its address; a server that cannot
	// work now is refused with the cause.
	Connect = otp.Call[ConnectRequest, otp.Ref]
	// Describe asks what the caller's servers are, for the answer to initialize. It waits for servers that are starting.
	Describe = otp.Call[DescribeRequest, Description]
	// List asks for one page of one list of all servers as one. It waits for servers that were never listed and are starting.
	List = otp.Call[ListRequest, jsontext.Value]
	// Resolve asks which server a name or URI of the aggregate belongs to.
	Resolve = otp.Call[ResolveRequest, Target]
	// Servers asks for the state of every server.
	Servers = otp.Call[ServersRequest, []Record]
)

// ConnectRequest names a server of the tenant.
type ConnectRequest struct {
	Caller Caller
	Server string
}

// DescribeRequest bounds the wait for servers that are starting.
type DescribeRequest struct {
	Caller Caller
	Wait   time.Duration
}

// Description is what the caller's servers are, seen as one.
type Description struct {
	Capabilities protocol.ServerCapabilities
	Instructions string
	Facts        client.Facts // of a transparent endpoint's server
	Missing      []string     // servers that were not known in time
}

// ListRequest asks for the page behind Cursor, which is as the client sent it.
type ListRequest struct {
	Caller Caller
	Kind   client.Kind
	Cursor jsontext.Value
}

// ResolveRequest names a tool, prompt, resource or template of the aggregate.
type ResolveRequest struct {
	Caller Caller
	Kind   client.Kind
	Name   string // or URI
}

// Target is where a name of the aggregate leads.
type Target struct {
	Server string
	Name   string // or URI, as the server has it
}

// ServersRequest has no fields.
type ServersRequest struct{}

// Record is what the catalogue holds about one server.
type Record struct {
	Server  string
	Link    tenant.Link
	Share   tenant.Share
	State   client.State
	Cause   string
	Since   time.Time
	Retry   time.Time // when it is started again, in crash_loop and failed
	Version string
	Tools   int
	Open    int // connections
}
