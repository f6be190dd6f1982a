package client

import (
	"context"
	"time"

	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/internal/highwater"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// Dial opens the transport of the connection self. It runs in a goroutine of the connection and may
// take as long as ctx allows.
type Dial func(ctx context.Context, self otp.Ref) (transport.Upstream, error)

// Options configure a connection. They stay the same over its incarnations.
type Options struct {
	Tenant string
	Server string
	Key    tenant.Key
	// Declare is what the server may ask its clients. Its fingerprint is part of Key.
	Declare           protocol.ClientCapabilities
	Dial              Dial
	Policy            protocol.Negotiation // which revisions are spoken to the server; zero for all
	Transport, Target string               // for the log
	// Close takes over a transport that is to be closed, so that a server which ends slowly delays
	// nobody.
	Close func(transport.Upstream)

	// Intensity bounds how often the connection starts over at once with a server that was ready and
	// has forgotten its session. It is the bound for restarts of a program, too. The zero value allows
	// none at once.
	Intensity      tenant.Intensity
	StartTimeout   time.Duration        // from dialling to ready
	RequestTimeout func() time.Duration // of each request of the host itself, except those for lists
	ListTimeout    func() time.Duration // of each page of a list that the host asks for
	// QuestionWait is how long calls wait for users who are asked something during other calls.
	QuestionWait func() time.Duration
	// Pending bounds the calls that wait for the server. It is the request manager's own bound, so
	// that a call that the request manager has admitted is not refused here.
	Pending func() int
	Waited  *highwater.Mark // high-water mark of the calls that wait
	// Kept is the account of the tenant, for memory that outlives the message that brought it.
	Kept   *quota.Account
	Linger time.Duration // a shared connection without a session ends after this; 0 keeps it
	// Listened keeps a shared connection without a session as long as sessions listen to it: its
	// server may announce changes although nobody calls it.
	Listened bool
	// Idle is how long nothing may need the server before it is ended although it has sessions. It is
	// dialled again when something needs it. 0 is never.
	Idle time.Duration
	// Instances bounds the instances of the server that take calls which have to wait for each other;
	// 0 is 1.
	Instances int
	// ShareLogs lets everyone who shares the connection receive log lines that may be about another's
	// call, and read what the program last wrote to its standard error.
	ShareLogs bool
	// Replay selects the tool calls that are sent once more when the server died on them, as in
	// package tenant; empty for none.
	Replay string

	Dispatcher otp.Ref // the tenant's notification dispatcher
	Catalog    otp.Ref // told every change of state
	Emit       telemetry.Sink
	Self       protocol.Implementation // told to the server as its client
	// Known is shared by the connections to this server. Nil gives the connection one of its own.
	Known *SharedServerState
	// Restore is what an earlier connection of this key has left; nil for nothing.
	Restore *AbandonedState
	// Forgot is called with its own address by an incarnation that has lost the carried state, and so
	// does not know the users of those before it. Every session is then sent a UsersForgotten. Nil
	// asks nobody.
	Forgot func(from otp.Ref)
}
