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

// Options are what the held calls of one tenant share.
type Options struct {
	Ring     *seal.Ring
	Instance string               // of this host, as its tokens name it
	Park     func() time.Duration // how long a client may take to come back
	Requests otp.Ref              // the tenant's request manager
	Kept     *quota.Account       // what the tenant keeps
}

// Args are what the actor of a call is started with.
type Args struct {
	Exchange     *request.Exchange
	Relay        *Relay
	Capabilities protocol.ClientCapabilities
}

// Row is the id of a call's row.
func Row(exchange uint64) string { return strconv.FormatUint(exchange, 10) }

// handle is a call in a token.
func handle(exchange uint64) (h [16]byte) {
	binary.BigEndian.PutUint64(h[8:], exchange)
	return h
}

// CallOf is the exchange that a token is for, and RowOf the row of its actor.
func CallOf(s seal.State) uint64 { return binary.BigEndian.Uint64(s.Handle[8:]) }
func RowOf(s seal.State) string  { return Row(CallOf(s)) }

// The actor receives client.Question and client.Withdrawn of the call's server, and these. The classes:
//
//	Retry               ordinary: one that is refused is answered by its Fail
//	Gone, finished      owed: one for each request of the client, and one for the call
//	relayed             sheddable: progress and log lines
func (*Gone) Class() otp.Class     { return otp.Owed }
func (*finished) Class() otp.Class { return otp.Owed }
func (*relayed) Class() otp.Class  { return otp.Sheddable }

// Retry is the client coming back with what it was asked for.
type Retry struct {
	Deliver      *session.Deliver
	Calls        *session.Calls // of the session that it came to, which need not be the one that made the call
	Capabilities protocol.ClientCapabilities
	Round        uint32
	Answers      mrtr.Retry

	taken bool // the call has it, and answers it before it ends
}

// Fail answers the retry when the call is gone, has too much to do, or crashed on it.
func (r *Retry) Fail(err error) {
	if r.taken && err == otp.Normal { // the call ended with it
		return
	}
	why := protocol.StateInvalid("requestState")
	switch {
	case errors.Is(err, otp.ErrOverloaded):
		why = protocol.Overloaded("call", time.Second)
	case err != otp.Normal && !errors.Is(err, otp.ErrNoProc): // the actor crashed on it; the state is as good as before
		why = protocol.InternalError(err)
	}
	r.Calls.Answered(r.Deliver.Out)
	r.Deliver.Out.Finish(request.Failure(r.Deliver.Message.ID, why, r.Deliver.Version))
}

// Gone says that the client of a request has gone, which cancels the call if it is the one that is open.
type Gone struct{ Out transport.Sink }

// What the relay passes on.
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
