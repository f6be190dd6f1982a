package request

import (
	"time"

	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// The classes of the messages below. Whatever ends what was accepted before is owed; what only informs can be done without.
//
//	Submit, Park, Forward   ordinary: whoever sends one can take a refusal
//	Cancel                  owed: one for each Submit
//	CancelOwner             owed: one for each session
//	Stop                    owed: one for each end of the listeners
//	Unpark                  owed: one for each Park
//	Withdraw                owed: one for each Forward
//	Done                    owed: one for each Submit
func (*Cancel) Class() otp.Class      { return otp.Owed }
func (*CancelOwner) Class() otp.Class { return otp.Owed }
func (*Stop) Class() otp.Class        { return otp.Owed }
func (*Unpark) Class() otp.Class      { return otp.Owed }
func (*Withdraw) Class() otp.Class    { return otp.Owed }
func (Done) Class() otp.Class         { return otp.Owed }

// Submit asks the manager to take charge of an exchange: count it against the tenant's bound, hold its deadline, and forward it to
// its upstream connection. The session sends it. What comes back is the outcome in the exchange's sink, and Done to its owner.
type Submit struct{ Exchange *Exchange }

// Submit is that message for the exchange. It is a part of it, and is sent once.
func (x *Exchange) Submit() *Submit {
	x.submit.Exchange = x
	return &x.submit
}

// Fail answers the exchange when the manager could not take charge of it.
func (m *Submit) Fail(err error) {
	m.Exchange.Settle(Outcome{Err: m.Exchange.Broken(err)})
}

// Cancel ends an exchange because its client asked for it, or is gone. The session sends it, once; nothing comes back.
type Cancel struct {
	ID uint64
	repeat
}

// NewCancel is a Cancel for a manager.
func NewCancel(manager otp.Ref, id uint64) *Cancel { return &Cancel{id, repeat{to: manager}} }

// Fail gives it to the manager's next incarnation.
func (m *Cancel) Fail(error) { m.again(m) }

// CancelOwner ends every exchange of one session. The session sends it when it closes.
type CancelOwner struct {
	Session string
	repeat
}

// NewCancelOwner is a CancelOwner for a manager.
func NewCancelOwner(manager otp.Ref, session string) *CancelOwner {
	return &CancelOwner{session, repeat{to: manager}}
}

// Fail gives it to the manager's next incarnation.
func (m *CancelOwner) Fail(error) { m.again(m) }

// repeat is in what nobody says twice, and ends what would go on for long otherwise. The manager that crashed on it is given it once more; one
// that crashes on it again is not.
type repeat struct {
	to   otp.Ref
	done bool
}

func (r *repeat) again(msg any) {
	if !r.done {
		r.done = true
		_ = r.to.Send(msg)
	}
}

// Stop ends every exchange, because the host is about to. The listeners send it when requests have had their time to end.
type Stop struct{}

// Park extends the exchange's deadline while its client answers a question of the server: by at most For.
type Park struct {
	ID  uint64
	For time.Duration
}

// Unpark returns the exchange to its own deadline. It is sent once for each Park that was accepted.
type Unpark struct {
	ID uint64
	repeat
}

// NewUnpark is an Unpark for a manager.
func NewUnpark(manager otp.Ref, id uint64) *Unpark { return &Unpark{id, repeat{to: manager}} }

// Fail gives it to the manager's next incarnation.
func (m *Unpark) Fail(error) { m.again(m) }

// Pending asks for the exchanges in flight, oldest first (S4-62).
type Pending = otp.Call[PendingQuery, []Info]

// PendingQuery selects what Pending answers: all exchanges, or those of one session.
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

// Forward is what the manager sends to an upstream connection: write this exchange's request. Whoever
// has its outcome settles it.
type Forward struct{ Exchange *Exchange }

// forwarded is that message for the exchange. It is a part of it, and is sent once.
func (x *Exchange) forwarded() *Forward {
	x.forward.Exchange = x
	return &x.forward
}

// Fail settles the exchange when the connection ended before it looked at it, or while it did.
func (m *Forward) Fail(err error) {
	x := m.Exchange
	lost := protocol.UpstreamLost(x.Server, x.Over(), err).Repeating(x.Method)
	x.Settle(Outcome{Err: lost})
}

// Withdraw is what the manager sends to an upstream connection: the exchange has ended here, tell the server and forget it.
type Withdraw struct {
	ID     uint64
	Reason string
}

// Done is what the manager sends to an exchange's owner: it has ended. Failed says that the server did not do what it was asked.
type Done struct {
	Exchange *Exchange
	Failed   bool
}
