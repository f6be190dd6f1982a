package catalog

import (
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/capability"
	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/tasks"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Caller identifies the session or peer that asks. It decides which connection is used, and so
// which lists are shown.
type Caller struct {
	Session      string // the session's row
	Ref          otp.Ref
	Holds        bool // see client.AttachRequest
	Principal    string
	Capabilities protocol.ClientCapabilities
	// Withheld are the capabilities that servers are not told of: see session.MaxCapabilitySets.
	Withheld protocol.Fingerprint
	// visibleCapabilities implementation; zero if there are several clients
	Info    protocol.Implementation
	Modern  bool             // its revision has no handshake
	Version protocol.Version // zero if it is not known
	// it has no session: all clients of its kind use the connection that its lists come from
	Peer   bool
	Server string // of a transparent endpoint; empty for the aggregate
	// Presence tells whether the client is there; nil for a caller that always is.
	Presence client.Presence

	// print is the cached fingerprint: see known.
	print *protocol.Fingerprint
}

// fingerprint is the fingerprint of the capabilities that servers are told of.
func (c Caller) fingerprint() protocol.Fingerprint {
	if c.print != nil {
		return *c.print
	}
	return c.Capabilities.Fingerprint() &^ c.Withheld
}

// withFingerprint returns the caller with its fingerprint set. The fingerprint is computed from the
// declaration once, and not for each server.
func (c Caller) withFingerprint() Caller {
	f := c.fingerprint()
	c.print = &f
	return c
}

// Visible are the capabilities that servers are told of.
func (c Caller) Visible() protocol.ClientCapabilities {
	if c.Withheld == 0 {
		return c.Capabilities
	}
	return c.Capabilities.RestrictTo(c.fingerprint())
}

// The calls that the catalogue answers. Sessions send them.
type (
	// Connect asks for the caller's connection to a server, which is started if needed. The answer is
	// the address. A server that cannot work now is refused with the cause.
	Connect = otp.Call[ConnectRequest, otp.Ref]
	// Look asks for a view of the caller's servers. It waits for servers that have never listed
	// anything and are starting.
	Look = otp.Call[LookRequest, *View]
	// Servers asks for the state of every server.
	Servers = otp.Call[ServersRequest, []Record]
	// Operate applies an operator's command to a server. The answer is the server's new state. It
	// comes when the decision is stored.
	Operate = otp.Call[OperateRequest, Record]
	// Reload asks the catalogue to apply the tenant's new configuration. Once it has answered, it no
	// longer hands out connections that are to be replaced.
	Reload = otp.Call[ReloadRequest, struct{}]
)

// ConnectRequest names a server of the tenant.
type ConnectRequest struct {
	Caller Caller
	Server string
	Shared bool // use the connection that the caller's lists come from, not one of its own
}

// LookRequest bounds the wait for servers that are starting. On the aggregate endpoint the wait for
// a server counts from the first request for it, and a server for which a caller has timed out is
// not waited for again. So a server that never answers delays one caller and not all.
type LookRequest struct {
	Caller Caller
	Wait   time.Duration
	// For is the one server that the answer needs; it is waited for even while it is restarted. Other
	// servers are not waited for. Empty means all servers.
	For string
	// Lists are the kinds of lists that the answer needs. It is empty if the answer needs only facts
	// about servers.
	Lists []merge.Kind
	// Refresh also starts, in the background, a server without a connection, to refresh its lists from
	// an earlier connection or host.
	Refresh bool
	// RefreshRemote is Refresh for servers that are not local programs.
	RefreshRemote bool
}

// View is the servers and lists that a caller sees. It does not change after it was made, and is
// safe to share.
type View struct {
	*merge.Catalog
	Servers   []Known  // servers that have listed something, in configuration order
	Missing   []string // the other servers
	Reachable bool     // the one server can be asked for its lists directly
	// References are the URIs that servers have given to clients outside their lists.
	References *merge.References

	transparent bool                           // view of a transparent endpoint
	own         client.Lists                   // lists of the one server
	short       [client.Kinds]client.Shortfall // their shortfalls
	// lists to which other instances of the server have added items
	added [client.Kinds]bool
	// what is missing in a list, and why; nil for nothing
	incomplete   [client.Kinds]jsontext.Value
	absent       []absent // servers that have listed nothing
	edition      uint64   // edition of the catalogue when absent was computed
	disabled     []string
	annotated    []jsontext.Value // tools with annotations, for modern clients
	experimental []capability.Experimental

	account *quota.Account     // of the tenant
	counted *quota.Reservation // nil before the view is kept
	handle  *Handle            // nil before the view is kept

	mu       sync.Mutex // guards the fields below, which cache earlier answers
	offers   map[protocol.Version]protocol.ServerCapabilities
	offered  int                         // size of offers in bytes
	mirrors  map[string][]headers.Mirror // by tool; nil before the first use
	supports map[owned]tasks.Support     // tools with task support; nil before the first use
}

// Known is a server with the facts from its handshake.
type Known struct {
	Name  string
	Facts client.Facts
}

// ServersRequest has no fields.
type ServersRequest struct{}

// OperateRequest names a server of the tenant and the command for it. A server that is not
// configured is refused.
type OperateRequest struct {
	Server string
	Verb   Verb
}

// Class returns otp.Reserved (reserved): operators send one such message at a time.
func (OperateRequest) Class() otp.Class { return otp.Reserved }

// ReloadRequest has no fields.
type ReloadRequest struct{}

// Class returns otp.Reserved (reserved): there is one such message for each reload.
func (ReloadRequest) Class() otp.Class { return otp.Reserved }

// Assigned tells a session that it now uses a connection for which it has not asked, because the
// server wants to ask a client something.
type Assigned struct {
	Server string
	Ref    otp.Ref
}

// Class returns otp.Reserved (reserved): there is one such message for each connection.
func (Assigned) Class() otp.Class { return otp.Reserved }

// Record is the state of one server in the catalogue.
type Record struct {
	Server string
	Link   tenant.Link
	Share  tenant.Share
	State  client.State
	Since  time.Time
	// Ending explains why the server is not ready: how it ended last, or what it lacks.
	Ending   telemetry.Ending
	Operator bool      // an operator has quarantined it
	Retry    time.Time // earliest restart; zero means at once, or never by itself
	Version  string
	Tools    int
	Stale    bool   // the known lists are from earlier, and not yet confirmed
	Open     int    // number of connections
	Odd      string // items that the aggregate's list repairs or omits; empty for none
}
