package held

import (
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/seal"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// Options are shared by the held calls of one tenant.
type Options struct {
	Ring     *seal.Ring
	Instance string               // of this host, as its tokens name it
	Park     func() time.Duration // how long a client may take to come back
	Requests otp.Ref              // the tenant's request manager
	Kept     *quota.Account       // byte budget of the tenant
}

// Args are the arguments for the start of a call's actor.
type Args struct {
	Exchange     *request.Exchange
	Relay        *Relay
	Capabilities protocol.ClientCapabilities
}

// Row is the id of a call's row.
func Row(exchange uint64) string { return strconv.FormatUint(exchange, 10) }

// handle returns the number of a call as tokens contain it.
func handle(exchange uint64) (h [16]byte) {
	binary.BigEndian.PutUint64(h[8:], exchange)
	return h
}

// CallOf returns the exchange that a token is for.
func CallOf(s seal.State) uint64 { return binary.BigEndian.Uint64(s.Handle[8:]) }

// RowOf returns the row of the actor that a token is for.
func RowOf(s seal.State) string { return Row(CallOf(s)) }

// The actor receives client.Question and client.Withdrawn of the call's server, and the messages
// below. The classes:
//
//	Retry               ordinary: a refused one is answered by its Fail
//	Gone, finished      reserved: one for each request of the client, and one for the call
//	relayed             best effort: progress and log lines
func (*Gone) Class() otp.Class     { return otp.Reserved }
func (*finished) Class() otp.Class { return otp.Reserved }
func (*relayed) Class() otp.Class  { return otp.BestEffort }

// Retry is the return of the client with its answers.
type Retry struct {
	Deliver *session.Deliver
	// Calls is that of the session to which it came, which need not be the session that made the call.
	Calls        *session.Calls
	Capabilities protocol.ClientCapabilities
	Round        uint32
	Answers      mrtr.Retry

	taken bool // the call has it, and answers it before it ends
}

// Fail answers the retry when the call is gone or overloaded, or crashed on it.
func (r *Retry) Fail(err error) {
	if r.taken && err == otp.Normal { // the call ended with it
		return
	}
	refusal := protocol.StateInvalid("requestState")
	switch {
	case errors.Is(err, otp.ErrOverloaded):
		refusal = protocol.Overloaded("call", time.Second)
	// The actor crashed on the retry; the state stays valid.
	case err != otp.Normal && !errors.Is(err, otp.ErrNoProc):
		refusal = protocol.InternalError(err)
	}
	r.Calls.RemoveRetry(r.Deliver.Out)
	r.Deliver.Out.Finish(request.Failure(r.Deliver.Message.ID, refusal, r.Deliver.Version))
}

// Gone says that the client of a request has left, which cancels the call if that request is open.
type Gone struct{ Out transport.Sink }

// Messages from the relay.
type (
	relayed  struct{ m jsonrpc.Message }
	finished struct {
		m    jsonrpc.Message
		to   otp.Ref
		lost error // why the actor has not seen it; nil when it is here
	}
)

// Fail tells the actor that the outcome crashed it, once.
func (m *finished) Fail(err error) {
	if m.lost == nil {
		_ = m.to.Send(&finished{lost: err})
	}
}
