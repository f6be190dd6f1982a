package request

import (
	"time"

	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// The classes of the messages below. Messages that end something accepted earlier are reserved,
// at most one for each thing that they end:
//
//	Submit, ExtendDeadline, Forward   ordinary: the sender can handle a refusal
//	Cancel                  reserved: one for each Submit
//	CancelOwner             reserved: one for each session
//	Stop                    reserved: one for each end of the listeners
//	Unpark                  reserved: one for each ExtendDeadline
//	Withdraw                reserved: one for each Forward
//	Done                    reserved: one for each Submit

func (*Cancel) Class() otp.Class          { return otp.Reserved }
func (*CancelOwner) Class() otp.Class     { return otp.Reserved }
func (*Stop) Class() otp.Class            { return otp.Reserved }
func (*RestoreDeadline) Class() otp.Class { return otp.Reserved }
func (*Withdraw) Class() otp.Class        { return otp.Reserved }
func (Done) Class() otp.Class             { return otp.Reserved }

// Submit asks the manager to take charge of an exchange: to count it against the tenant's bound, to
// enforce its deadline, and to forward it to its upstream connection. The session sends it. The
// response is the outcome in the exchange's sink, and Done to its owner.
type Submit struct{ Exchange *Exchange }

// Submit returns the Submit message of the exchange, which is part of the exchange and is sent
// once.
func (x *Exchange) Submit() *Submit {
	x.submit.Exchange = x
	return &x.submit
}

// Fail settles the exchange when the manager could not take charge of it.
func (m *Submit) Fail(err error) {
	m.Exchange.Settle(Outcome{Err: m.Exchange.Broken(err)})
}

// Cancel ends an exchange because its client cancelled it, or is gone. The session sends it, once;
// there is no response.
type Cancel struct {
	ID uint64
	resendOnce
}

// NewCancel makes a Cancel for a manager.
func NewCancel(manager otp.Ref, id uint64) *Cancel { return &Cancel{id, resendOnce{to: manager}} }

// Fail sends the message to the manager's next incarnation.
func (m *Cancel) Fail(error) { m.again(m) }

// CancelOwner ends every exchange of one session. The session sends it when it closes.
type CancelOwner struct {
	Session string
	resendOnce
}

// NewCancelOwner makes a CancelOwner for a manager.
func NewCancelOwner(manager otp.Ref, session string) *CancelOwner {
	return &CancelOwner{session, resendOnce{to: manager}}
}

// Fail sends the message to the manager's next incarnation.
func (m *CancelOwner) Fail(error) { m.again(m) }

// resendOnce is part of messages that are sent only once and whose loss would leave an exchange
// running for long. After a crash of the manager on such a message, the next incarnation gets it
// once more; after another crash it is dropped.
type resendOnce struct {
	to   otp.Ref
	done bool
}

func (r *resendOnce) again(msg any) {
	if !r.done {
		r.done = true
		_ = r.to.Send(msg)
	}
}

// Stop ends every exchange because the host shuts down. The listeners send it when requests have
// had their time to end.
type Stop struct{}

// ExtendDeadline extends the exchange's deadline by at most For, while its client answers a
// question of the server.
type ExtendDeadline struct {
	ID  uint64
	For time.Duration
}

// RestoreDeadline returns the exchange to its own deadline. It is sent once for each ExtendDeadline
// that was accepted.
type RestoreDeadline struct {
	ID uint64
	resendOnce
}

// NewRestoreDeadline makes an RestoreDeadline for a manager.
func NewRestoreDeadline(manager otp.Ref, id uint64) *RestoreDeadline {
	return &RestoreDeadline{id, resendOnce{to: manager}}
}

// Fail sends the message to the manager's next incarnation.
func (m *RestoreDeadline) Fail(error) { m.again(m) }

// Pending asks for the exchanges in flight, oldest first (S4-62).
type Pending = otp.Call[PendingQuery, []Info]

// PendingQuery selects the exchanges that Pending returns: all, or those of one session.
type PendingQuery struct{ Session string }

// Info describes one exchange in flight (S4-58).
type Info struct {
	ID       uint64
	Method   string
	Server   string
	Session  string
	Started  time.Time
	Deadline time.Time
}

// Forward is sent by the manager to an upstream connection, to write the request of this exchange.
// The actor that gets the outcome settles the exchange.
type Forward struct{ Exchange *Exchange }

// forwarded returns the Forward message of the exchange, which is part of the exchange and is sent
// once.
func (x *Exchange) forwarded() *Forward {
	x.forward.Exchange = x
	return &x.forward
}

// Fail settles the exchange when the connection ended before or while it handled the message.
func (m *Forward) Fail(err error) {
	x := m.Exchange
	lost := protocol.UpstreamLost(x.Server, x.BeginEnd(), err).MarkRetryable(x.Method)
	x.Settle(Outcome{Err: lost})
}

// Withdraw is sent by the manager to an upstream connection: the exchange has ended, so the
// connection tells the server and drops it.
type Withdraw struct {
	ID     uint64
	Reason string
}

// Done is sent to an exchange's owner when the exchange has ended. Failed says that the server did
// not execute the request successfully.
type Done struct {
	Exchange *Exchange
	Failed   bool
}
