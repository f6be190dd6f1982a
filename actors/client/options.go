package client

import (
	"context"
	"time"

	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/internal/water"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// Dial opens the transport of the connection self. It runs in a goroutine of the connection and may
// take as long as ctx allows.
type Dial func(ctx context.Context, self otp.Ref) (transport.Upstream, error)

// Options are what a connection is made from. They stay the same over its incarnations.
type Options struct {
	Tenant string
	Server string
	Key    tenant.Key
	// what the server may ask its client; part of Key by its fingerprint
	Declare           protocol.ClientCapabilities
	Dial              Dial
	Policy            protocol.Negotiation // which revisions are spoken to the server; zero for all
	Transport, Target string               // for the log
	// Close takes over a transport that is to be closed, so that a server which is slow to end
	// delays nobody.
	Close func(transport.Upstream)

	// Intensity is how often all is begun anew at once with a server that was ready and has
	// forgotten its session: as often as one that is a program is started again. Zero is never.
	Intensity      tenant.Intensity
	StartTimeout   time.Duration        // from dialling to ready
	RequestTimeout func() time.Duration // of each thing the host itself asks the server, but lists
	ListTimeout    func() time.Duration // of each page of a list that the host asks for
	// QuestionWait is how long calls wait for users who are asked something during other calls.
	QuestionWait func() time.Duration
	// Pending bounds the calls that wait for the server. It is the request manager's own bound, so
	// that what that has admitted is not refused here.
	Pending func() int
	Waited  *water.Mark // how many ever did
	// Kept is the account of the tenant, for what outlives the messages that brought it.
	Kept   *quota.Account
	Linger time.Duration // a shared connection without a session ends after this; 0 keeps it
	// Listened keeps a shared connection without a session as long as sessions listen to it: its
	// server may announce changes although nobody calls it.
	Listened bool
	// a server that nothing needs for so long is ended though it has sessions, and dialled again
	// when something does; 0 is never
	Idle time.Duration
	// Instances bounds how many instances of the server take calls that have to wait for each
	// other; 0 is 1.
	Instances int
	// ShareLogs has whoever shares the connection hear log lines that may be about another's call,
	// and read what the program last wrote to its standard error.
	ShareLogs bool
	// which tool calls are sent once more when the server died on them, as in package tenant; empty
	// for none
	Replay string

	Dispatcher otp.Ref // the tenant's notification dispatcher
	Catalog    otp.Ref // told every change of state
	Emit       telemetry.Sink
	Self       protocol.Implementation // who the server is told that its client is
	// shared by the connections to this server; nil is one of its own
	Known *Known
	// what an earlier connection of this key had left; nil for nothing
	Restore *Left
	// Forgot is called by an incarnation, with its address, that does not know who used those
	// before it, so that every session is sent a Forgotten. Nil asks nobody.
	Forgot func(from otp.Ref)
}
