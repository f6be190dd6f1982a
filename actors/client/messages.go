package client

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/gateway/catalog"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// A connection receives request.Forward and request.Withdraw from the request manager, and the
// messages below.

// The message classes. Reserved messages are always accepted, because their number is bounded as
// noted here. Best-effort messages are dropped first.
//
//	Question                           ordinary: the connection answers a question that is refused
//	ClientNotification, TaskStatus     best-effort: notifications
//	ElicitationCompleted               best-effort: a notification
//	AttachRequest, SubscriptionIntent  reserved: one for each request for which a session waits
//	Retire                             reserved: one for each reload
//	Stop, Restart                      reserved: one for each command of an operator
//	Redial, Pause, Check               reserved: one for each report of an unreachable server
//	Answer, Withdrawn                  reserved: one for each Question
//	Detach                             reserved: one for each AttachRequest
//	UsersForgotten                     reserved: one for each connection that lost its carried state
//	Describe                           reserved: one for each start of the connection or catalogue
//	Report                             reserved: one for each state, and each list fetched again
//	Unused, AbandonedState             reserved: one for each end of use, and of the connection

func (SubscriptionIntent) Class() otp.Class    { return otp.Reserved }
func (*ClientNotification) Class() otp.Class   { return otp.BestEffort }
func (*ElicitationCompleted) Class() otp.Class { return otp.BestEffort }
func (*TaskStatus) Class() otp.Class           { return otp.BestEffort }
func (AttachRequest) Class() otp.Class         { return otp.Reserved }
func (Retire) Class() otp.Class                { return otp.Reserved }
func (Stop) Class() otp.Class                  { return otp.Reserved }
func (Restart) Class() otp.Class               { return otp.Reserved }
func (*Answer) Class() otp.Class               { return otp.Reserved }
func (*Withdrawn) Class() otp.Class            { return otp.Reserved }
func (Detach) Class() otp.Class                { return otp.Reserved }
func (UsersForgotten) Class() otp.Class        { return otp.Reserved }
func (Describe) Class() otp.Class              { return otp.Reserved }
func (*Report) Class() otp.Class               { return otp.Reserved }
func (*Unused) Class() otp.Class               { return otp.Reserved }
func (*AbandonedState) Class() otp.Class       { return otp.Reserved }

// Attach tells the connection that a session uses it. The catalogue makes this call when it hands
// the connection out, so the catalogue knows which sessions are still on the way. A connection that
// serves one session ends with that session. A shared connection ends when it has had no session
// for Options.Linger: see Unused.
type Attach = otp.Call[AttachRequest, struct{}]

// AttachRequest names the session.
type AttachRequest struct {
	Session string // the session's row
	Ref     otp.Ref
	Holds   bool // the server keeps state for it between calls, and may not sleep
	User
}

// Detach tells the connection that one of its users needs it no longer and has no call on the way
// to it. The end of a session has the same effect.
type Detach struct{ Ref otp.Ref }

// Retire tells the connection that the declaration of its server has changed or is gone. The
// connection goes on until its sessions have left and its calls have ended, and then sends Unused.
// The catalogue sends Retire, and sends it again after a crash of the catalogue.
type Retire struct {
	// Removed says that the server is no longer declared. It is not started again for anybody.
	Removed bool
}

// Stop ends the connection for a reason that is told to everyone who waits for it. The catalogue
// sends it on the command of an operator.
type Stop struct{ Why *Ending }

// UsersForgotten tells a session that a connection no longer knows its users and what they want
// from its server. The connection was replaced because it hung, or could not run with its carried
// state. A session that uses the connection sends both again.
type UsersForgotten struct {
	Server string
	From   otp.Ref
}

// Restart replaces the server. Calls in flight end with the given reason; queued calls go to the
// next server. The catalogue sends it on the command of an operator.
type Restart struct{ Why *Ending }

// Unused tells the catalogue that nobody uses the connection. The catalogue ends the connection,
// unless an Attach is on the way.
type Unused struct {
	Server string
	Key    tenant.Key
	From   otp.Ref
	Why    string // in one word, for the log
}

// AbandonedState tells the catalogue that a connection was given up while sessions used it: which
// sessions they are and what they had asked of the server. The next connection with this key starts
// with it. A connection that goes on without its carried state gets it back.
type AbandonedState struct {
	Server   string
	Key      tenant.Key
	Declare  protocol.ClientCapabilities
	Self     protocol.Implementation
	Sessions map[string]otp.Ref
	URIs     map[string]map[string]bool // subscribed resources, and the sessions that want each
	Levels   map[string]string          // log level by session
	Holds    map[string]bool            // sessions for which the server keeps state
	Users    map[string]User            // on whose behalf the sessions act
	Modern   bool                       // the server is spoken to first in the era without a handshake
	// Version is that of the client for which the connection is opened; zero if unknown.
	Version protocol.Version
	Bytes   int // size of what the catalogue keeps until the next connection
}

// abandonedRowBytes is the size in bytes that a session counts in each list of an AbandonedState,
// beside the URIs there.
const abandonedRowBytes = 64

// size returns how many bytes l keeps.
func (l *AbandonedState) size() int {
	n := (len(l.Sessions) + len(l.Levels) + len(l.Holds) + len(l.Users)) * abandonedRowBytes
	for uri, who := range l.URIs {
		n += len(uri) + len(who)*abandonedRowBytes
	}
	return n
}

// Answer carries the client's answer to a Question back to the connection. The session sends it,
// once for each question.
type Answer struct {
	Question jsonrpc.ID // the server's own id
	Result   jsontext.Value
	Err      *jsonrpc.Error
	To       otp.Ref // the sender of the question, for Fail; zero for nobody

	reservation *quota.Reservation // of a large answer, until the connection has passed it on
}

func (a *Answer) size() int { return len(a.Result) + a.Err.Size() }

// Count charges a large answer to its tenant until the connection has passed it on or drops it.
func (a *Answer) Count(account *quota.Account) {
	if n := a.size(); n >= transport.Large {
		a.reservation = account.Count(quota.Requests, n)
	}
}

// SendTo counts the answer and sends it to the connection that asked.
func (a *Answer) SendTo(p *otp.Process, to otp.Ref, account *quota.Account) {
	if a.Count(account); p.Send(to, a) != nil {
		a.reservation.Release()
	}
}

// Fail sends the connection that asked an error in place of an answer on which it crashed, once.
func (a *Answer) Fail(err error) {
	a.reservation.Release()
	if a.To != (otp.Ref{}) && !errors.Is(err, otp.ErrNoProc) {
		_ = a.To.Send(&Answer{
			Question: a.Question, Err: protocol.Translate(protocol.InternalError(err), protocol.V20251125),
		})
	}
}

// Describe asks for a Report. The catalogue sends it when it may have missed one.
type Describe struct{}

// SetSubscriptionIntent tells the connection what a session wants from the server besides its
// calls. The reply comes when the server has answered the requests that this takes. It is the
// server's own error if the server refused the log level.
type SetSubscriptionIntent = otp.Call[SubscriptionIntent, struct{}]

// SubscriptionIntent is the subscription intent of a session: everything it wants to be told
// unasked. It can be sent again and again: it adds to what the connection knows, and takes nothing
// back. Unsubscribing is a call.
type SubscriptionIntent struct {
	Session string
	// Level is the log level that the session asked for, if any. The server is asked for the most
	// verbose level of all sessions.
	Level string
	URIs  []string // of resources it has subscribed to, as the server names them
	// Missed says that the session had given up these resources, and is told that they may have
	// changed.
	Missed bool
}

// ClientNotification passes a notification of a client on to the server (roots/list_changed,
// progress on a question, a notification of an extension). There is no reply. A notification of an
// extension waits until the server is ready.
type ClientNotification struct {
	Method string
	Params jsontext.Value
	From   protocol.Version   // of the client; zero if the same in every revision
	Kept   *quota.Reservation // of the memory that it takes; its last user releases it
}

// Fail releases the memory of a notification that nobody handles.
func (m *ClientNotification) Fail(error) { m.Kept.Release() }

// Question is what the connection sends to a session when the server asks its client something. An
// Answer comes back.
type Question struct {
	From   otp.Ref
	Server string
	ID     jsonrpc.ID // the server's own id
	// Exchange is the call that the question belongs to. It is nil if that is unknown, or the server
	// asked outside of any call.
	Exchange *request.Exchange
	// OtherCall is set if Exchange is nil: another call of the same client, on whose stream the client
	// hears the question.
	OtherCall *request.Exchange
	Method    string
	Params    jsontext.Value
}

// Fail refuses a question that the session could not handle, so that the server does not wait.
func (q *Question) Fail(err error) {
	q.From.Send(&Answer{Question: q.ID, Err: protocol.Translate(err, protocol.V20251125)})
}

// Withdrawn tells the session that the server no longer wants an answer.
type Withdrawn struct {
	From     otp.Ref
	Question jsonrpc.ID
	Call     uint64 // the exchange it belonged to; 0 when none
}

// ElicitationCompleted tells a session or a task that an elicitation is complete. A connection
// sends it to the one that the elicitation was put to, and to nobody else.
type ElicitationCompleted struct {
	Server string
	ID     string         // of the elicitation
	Params jsontext.Value // of the notification, as the server wrote them
}

// TaskStatus is an unsolicited status of a task, from a server of 2025-11-25. A connection sends it
// to the actor that keeps the task.
type TaskStatus struct{ Params jsontext.Value }

// Lists holds what a server listed, by catalog.Kind, each item as the server wrote it. A list is
// nil if it was not fetched or the server offers none.
type Lists [Kinds][]jsontext.Value

// Kinds is how many lists a server has.
const Kinds = 4

// State is the state of a connection, in the words that an operator reads in the tree.
type State string

// The states of an upstream.
const (
	Idle        State = "idle"        // nobody has asked for it yet
	Starting    State = "starting"    // dialling, or in its handshake
	Ready       State = "ready"       // handshake done, lists known, subscriptions restored
	Degraded    State = "degraded"    // ready, but some connections are not, or a list is missing
	Backoff     State = "backoff"     // failed, and being started again
	CrashLoop   State = "crash_loop"  // restart budget ran out; started again on demand, after a pause
	Quarantined State = "quarantined" // permanent cause, or by operator; only rarely probed
	Stopped     State = "stopped"     // ended because it was not needed; started again on demand
)

// States returns all states, in the order in which they follow when a server does badly.
func States() []State {
	return []State{Idle, Starting, Ready, Degraded, Backoff, CrashLoop, Quarantined, Stopped}
}

// Report tells the catalogue the state of a connection and, when it is ready, everything that was
// learnt about the server.
type Report struct {
	Server      string
	Key         tenant.Key
	From        otp.Ref
	Incarnation uint64
	State       State
	Cause       error  // for Backoff and Quarantined: an *Ending, when a connection says it
	Away        bool   // for Backoff: nothing answers at its URL, and it waits for Redial
	GaveUp      bool   // for Backoff: it ends as if its restart budget had run out
	Channel     bool   // its server speaks HTTP+SSE
	Early       bool   // its server wants to ask the first session something
	Closed      string // for Stopped: why, in one word
	Lacks       string // for Ready: the lists that could not be fetched, and why; empty for none
	At          time.Time
	Facts       Facts // for Ready
	Lists       Lists // for Ready
	Shortfalls  [Kinds]Shortfall
	// Changed are the lists that differ from the last report, or that the server announced as changed.
	Changed []catalog.Kind
}
