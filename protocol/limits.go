package protocol

import (
	"time"

	"mcpd/protocol/jsonrpc"
)

// Every bound of the protocol, with its reason. What an operator may change is a default here and is configured above.
const (
	// MaxRequestBody bounds what a client sends in one message. It is the default of the official Go SDK.
	MaxRequestBody = 4 << 20
	// MaxUpstreamMessage bounds what a server sends in one message: tool results carry files and images.
	MaxUpstreamMessage = 16 << 20

	// MaxMetaBytes, MaxMetaDepth and MaxMetaKeys bound _meta, which is read before anything is known
	// about its sender: 64 KiB of the client's own, and 16 KiB for the members of the protocol that
	// 2026-07-28 has beside them.
	MaxMetaBytes = (64 + 16) << 10
	MaxMetaDepth = 8
	MaxMetaKeys  = 64

	// MaxAnswerDepth and MaxAnswerMembers bound what is nested in a message of a server, and the members
	// of one object of it, unless the configuration says otherwise.
	MaxAnswerDepth   = 1000
	MaxAnswerMembers = 1_000_000

	// MaxDeclaration bounds capabilities and clientInfo of initialize, each of which a session keeps for its life. An icon as a data URI
	// fits.
	MaxDeclaration = 64 << 10

	// MaxPending is how many requests one request manager holds (S4-57): what one tenant may have in flight.
	MaxPending = 1000
	// MaxPendingPerSession keeps one client from taking all of its tenant's.
	MaxPendingPerSession = 256
	// MaxNotifications is how many notifications one dispatcher holds before it drops (S4-65).
	MaxNotifications = 1000
	// MaxSubscribedURIs bounds the resources of one subscriptions/listen, and those that a session is subscribed to; each costs an
	// entry on both sides.
	MaxSubscribedURIs = 256
	// MaxSubscribedBytes bounds the URIs of the latter: they are written down with the session after each change.
	MaxSubscribedBytes = 256 << 10
	// MaxHistory is how many finished requests are remembered, and HistoryTTL for how long (S4-133): enough to tell a late answer from
	// one that was never asked for.
	MaxHistory = 1024
	HistoryTTL = 5 * time.Minute
	// MaxMethodMetrics bounds the methods counted by name; the names come from the peer. There are 36 known ones.
	MaxMethodMetrics = 64

	// RequestTimeout is for what mcpd itself asks: lists, probes, pings (S4-56).
	RequestTimeout = 5 * time.Second
	// CallTimeout is for tools/call, prompts/get and resources/read. Progress starts it anew, up to
	// MaxCallTimeout in all. Clients usually wait 60 s: they read our reason before they give up.
	CallTimeout    = 55 * time.Second
	MaxCallTimeout = 15 * time.Minute
	// ParkTimeout is for a call that waits for its user: people answer in minutes.
	ParkTimeout = 5 * time.Minute
	// QuestionWait is for calls that wait for the user of another call. Most clients wait for a minute.
	QuestionWait = 30 * time.Second
	// InitializeTimeout is how long a connection may take from its start to its last handshake message (S4-39, S4-48).
	InitializeTimeout = 30 * time.Second

	// MaxRequestID is the largest integer that a peer written in JavaScript holds exactly: 2^53-1. The other three are 80, 90 and 96
	// per cent of it (S4-127): from them on an operator is warned, the connection is replaced, and no request is sent on it.
	MaxRequestID      = 1<<53 - 1
	WarnRequestID     = 7_205_759_403_792_792
	ReplaceRequestID  = 8_106_479_329_266_891
	ReservedRequestID = 8_646_911_284_551_351

	// MaxDetail bounds the text of an unmapped error that a peer gets to see: one line of a log.
	MaxDetail = 256
)

// RequestLimits bounds a message of a client.
func RequestLimits() jsonrpc.Limits { return jsonrpc.Limits{Bytes: MaxRequestBody} }

const (
	// MaxQuestionID bounds the id of what a server asks, in bytes: it is kept while the question is
	// open.
	MaxQuestionID = 64 << 10
	// MaxAnswerBatch bounds the messages of an array of a server: each takes more than its bytes.
	MaxAnswerBatch = 10_000
)

// UpstreamLimits bounds a message of a server. The official SDKs have no bound but memory, so
// tokens and digits are bounded by the bytes of the message alone: they take no memory beside it.
func UpstreamLimits() jsonrpc.Limits {
	return jsonrpc.Limits{
		Bytes: MaxUpstreamMessage, Tokens: MaxUpstreamMessage, Digits: MaxUpstreamMessage,
		Depth: MaxAnswerDepth, Keys: MaxAnswerMembers, ID: MaxQuestionID, Batch: MaxAnswerBatch,
	}
}
