package protocol

import (
	"time"

	"mcpd/protocol/jsonrpc"
)

// The bounds of the protocol and their defaults. Bounds that an operator can configure have their
// default here.
const (
	// MaxRequestBody is the default bound of one message from a client, in bytes: 4 MiB. The official
	// Go SDK has the same default.
	MaxRequestBody = 4 << 20
	// MaxUpstreamMessage bounds one message from a server, in bytes: 16 MiB. It is larger than
	// MaxRequestBody because tool results carry files and images.
	MaxUpstreamMessage = 16 << 20

	// MaxMetaBytes, MaxMetaDepth and MaxMetaKeys bound _meta, which is read before the sender is
	// known. The bytes are 64 KiB for the client's own members and 16 KiB for the members that
	// 2026-07-28 adds. Depth counts nested objects and arrays. Keys counts the members of one object.
	MaxMetaBytes = (64 + 16) << 10
	MaxMetaDepth = 8
	MaxMetaKeys  = 64

	// MaxUpstreamDepth and MaxUpstreamMembers are the defaults for a server's message: the depth of
	// its nesting, and the members of one object in it.
	MaxUpstreamDepth   = 1000
	MaxUpstreamMembers = 1_000_000

	// MaxDeclaration bounds the capabilities and the clientInfo of initialize, in bytes each: 64 KiB.
	// A session keeps both for its life. The bound leaves space for an icon as a data URI.
	MaxDeclaration = 64 << 10

	// MaxPending bounds the requests that one tenant may have in flight, which one request manager
	// holds.
	MaxPending = 1000
	// MaxPendingPerSession bounds the requests in flight of one session, so that one client cannot use
	// the whole MaxPending of its tenant.
	MaxPendingPerSession = 256
	// MaxNotifications bounds the notifications that one dispatcher buffers. Beyond it, some are
	// dropped (subscription.Queue).
	MaxNotifications = 1000
	// MaxSubscribedURIs bounds the resources of one subscriptions/listen, and the resources that one
	// session is subscribed to. Each costs an entry on both sides.
	MaxSubscribedURIs = 256
	// MaxSubscribedBytes bounds the URIs that one session is subscribed to, in bytes: 256 KiB. They
	// are stored with the session after each change.
	MaxSubscribedBytes = 256 << 10

	// RequestTimeout is the time-out of the requests that mcpd sends on its own behalf: lists, probes,
	// pings.
	RequestTimeout = 5 * time.Second
	// CallTimeout is the time-out of tools/call, prompts/get and resources/read. Progress restarts it,
	// up to MaxCallTimeout in total. Clients usually wait 60 s, so they receive mcpd's error before
	// they give up.
	CallTimeout    = 55 * time.Second
	MaxCallTimeout = 15 * time.Minute
	// InputTimeout is the time-out of a call that waits for input from its user, who may need minutes.
	InputTimeout = 5 * time.Minute
	// QuestionWait is the time-out of a call that waits for the user of another call. Most clients
	// wait for a minute.
	QuestionWait = 30 * time.Second
	// InitializeTimeout bounds the time from the start of a connection to the last message of its
	// handshake.
	InitializeTimeout = 30 * time.Second

	// MaxRequestID is 2^53-1, the largest integer that a peer in JavaScript holds exactly. The other
	// three are 80, 90 and 96 per cent of it. From WarnRequestID on, the host warns the operator. From
	// ReplaceRequestID on, it replaces the connection. From ReservedRequestID on, it sends no more
	// requests on the connection.
	MaxRequestID      = 1<<53 - 1
	WarnRequestID     = 7_205_759_403_792_792
	ReplaceRequestID  = 8_106_479_329_266_891
	ReservedRequestID = 8_646_911_284_551_351

	// MaxDetail bounds the text of an unmapped error that a peer may see, in bytes: one line of a log.
	MaxDetail = 256
)

// RequestLimits returns the default limits of a client's message.
func RequestLimits() jsonrpc.Limits { return jsonrpc.Limits{Bytes: MaxRequestBody} }

const (
	// MaxQuestionID bounds the id of a request from a server, in bytes: 64 KiB. The id is kept while
	// the request is open.
	MaxQuestionID = 64 << 10
	// MaxUpstreamBatch bounds the messages in one batch from a server. A decoded message takes more
	// memory than its bytes.
	MaxUpstreamBatch = 10_000
)

// UpstreamLimits returns the default limits of a server's message. The official SDKs set no limits.
// Tokens and digits take no memory beyond the message, so only its bytes bound them.
func UpstreamLimits() jsonrpc.Limits {
	return jsonrpc.Limits{
		Bytes: MaxUpstreamMessage, Tokens: MaxUpstreamMessage, Digits: MaxUpstreamMessage,
		Depth: MaxUpstreamDepth, Keys: MaxUpstreamMembers, ID: MaxQuestionID, Batch: MaxUpstreamBatch,
	}
}
