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

// Caller says on whose behalf something is asked. It decides which connection, and so which lists,
// are meant.
type Caller struct {
	Session      string // the session's row
	Ref          otp.Ref
	Holds        bool // as of client.AttachRequest
	Principal    string
	Capabilities protocol.ClientCapabilities
	// Withheld are those of the capabilities that servers are not told of: see session.MaxSets.
	Withheld protocol.Fingerprint
	Info     protocol.Implementation // who it says it is; zero when that is not one client's
	Modern   bool                    // its revision has no handshake
	Version  protocol.Version        // that revision; zero when it is not known
	// it has no session: all clients of its kind use the connection that its lists come from
	Peer   bool
	Server string // of a transparent endpoint; empty for all servers as one
	// Presence tells whether its client is there; nil for what is always there.
	Presence client.Presence

	// print is the fingerprint, where it is known: see known.
	print *protocol.Fingerprint
}

// fingerprint is that of the capabilities which servers are told of.
func (c Caller) fingerprint() protocol.Fingerprint {
	if c.print != nil {
		return *c.print
	}
	return c.Capabilities.Fingerprint() &^ c.Withheld
}

// known is the caller with its fingerprint, which is read from its declaration: once, and not for
// each of its servers.
func (c Caller) known() Caller {
	f := c.fingerprint()
	c.print = &f
	return c
}

// Told are the capabilities which servers are told of.
func (c Caller) Told() protocol.ClientCapabilities {
	if c.Withheld == 0 {
		return c.Capabilities
	}
	return c.Capabilities.Told(c.fingerprint())
}

// The calls that the catalogue answers. Sessions send them.
type (
	// Connect asks for the caller's connection to a server, started if need be. The answer is its
	// address; a server that cannot work now is refused with the cause.
	Connect = otp.Call[ConnectRequest, otp.Ref]
	// Look asks for the caller's servers as they are known. It waits for servers that were never
	// listed and are starting.
	Look = otp.Call[LookRequest, *View]
	// Servers asks for the state of every server.
	Servers = otp.Call[ServersRequest, []Record]
	// Operate does to a server what an operator wants. The answer is how it is doing then, and
	// comes when the decision is written down.
	Operate = otp.Call[OperateRequest, Record]
	// Reload asks the catalogue to look at its tenant's configuration anew. When the answer comes,
	// nobody is sent to a connection any more that is to be replaced.
	Reload = otp.Call[ReloadRequest, struct{}]
)

// ConnectRequest names a server of the tenant.
type ConnectRequest struct {
	Caller Caller
	Server string
	Shared bool // the one that the caller's lists come from, instead of one of its own
}

// LookRequest bounds the wait for servers that are starting. For one of several it is counted from
// when that was first asked for, and one that somebody has waited for in vain is not waited for
// again, so that a server which never answers delays one caller and not each.
type LookRequest struct {
	Caller Caller
	Wait   time.Duration
	// the one server that the answer is needed for, also while it is started again; another is not
	// waited for. Empty is for all
	For string
	// Lists are the kinds that the answer is made of; none where it is what servers are.
	Lists []merge.Kind
	// a server that is not there is started behind the answer, so that what it listed to an earlier
	// connection or host is learnt anew
	Anew bool
	// Remote is Anew for servers that are no programs.
	Remote bool
}

// View is what a caller sees of its servers. It is never changed after it was made, and safe to
// share.
type View struct {
	*merge.Catalog
	Servers []Known  // those that have been listed, in configuration order
	Missing []string // those that have not
	Answers bool     // the one server that is seen can be asked for its lists itself
	// References are the URIs that servers have given to clients beside their lists.
	References *merge.References

	alone bool                           // one server is seen as it is
	own   client.Lists                   // of that one
	short [client.Kinds]client.Shortfall // as well
	added [client.Kinds]bool             // to them by other instances of the server
	// what a list does not have, and why; nil for nothing
	incomplete   [client.Kinds]jsontext.Value
	absent       []absent // servers that have listed nothing
	edition      uint64   // of the catalogue when that was so
	disabled     []string
	annotated    []jsontext.Value // tools whose annotations are shown to modern clients
	experimental []capability.Experimental

	account *quota.Account     // of the tenant
	counted *quota.Reservation // nil before it is kept
	handle  *Handle            // as well

	mu       sync.Mutex // guards what follows: what was asked for before
	offers   map[protocol.Version]protocol.ServerCapabilities
	offered  int                         // bytes of these
	mirrors  map[string][]headers.Mirror // by tool; nil before the first
	supports map[owned]tasks.Support     // of tools that have any; nil before the first
}

// Known is a server and what its handshake established.
type Known struct {
	Name  string
	Facts client.Facts
}

// ServersRequest has no fields.
type ServersRequest struct{}

// OperateRequest names a server of the tenant, and what is to be done to it. One that is not
// configured is refused.
type OperateRequest struct {
	Server string
	Verb   Verb
}

// Class lets it in however full the mailbox is: operators do such things one at a time.
func (OperateRequest) Class() otp.Class { return otp.Owed }

// ReloadRequest has no fields.
type ReloadRequest struct{}

// Class lets it in however full the mailbox is: it is one for each reload.
func (ReloadRequest) Class() otp.Class { return otp.Owed }

// Introduced tells a session that it uses a connection which it has not asked for: its server wants to
// ask a client something.
type Introduced struct {
	Server string
	Ref    otp.Ref
}

// Class lets it in however full the mailbox is: it is one for each connection.
func (Introduced) Class() otp.Class { return otp.Owed }

// Record is what the catalogue holds about one server.
type Record struct {
	Server string
	Link   tenant.Link
	Share  tenant.Share
	State  client.State
	Since  time.Time
	// Ending is why it is not ready: how it ended last, or what it lacks.
	Ending   telemetry.Ending
	Operator bool      // an operator has quarantined it
	Retry    time.Time // when it may be started again: zero when that is now, or never by itself
	Version  string
	Tools    int
	Stale    bool   // what it listed last is known from earlier, and not yet confirmed
	Open     int    // connections
	Odd      string // items that the list of all servers repairs or leaves out; empty for none
}
