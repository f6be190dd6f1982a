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

// A connection receives request.Forward and request.Withdraw from the request manager, and these.

// The classes:
//
//	Question            ordinary: one that is refused is answered by the connection
//	Tell, Completed, TaskStatus  sheddable: notifications
//	Attach, Want        owed: one for each request for which a session waits
//	Retire              owed: one for each reload
//	Stop, Restart       owed: one for each command of an operator
//	Redial, Pause, Check  owed: one for each report of a server that is away
//	Answer, Withdrawn   owed: one for each Question
//	Detach              owed: one for each Attach
//	Forgotten           owed: one for each such end of a connection
//	Describe            owed: one for each start of the connection or the catalogue
//	Report              owed: one for each state, and for each list that was asked for again
//	Unused, Left        owed: one for each end of use, and of the connection
func (Wish) Class() otp.Class          { return otp.Owed }
func (*Tell) Class() otp.Class         { return otp.Sheddable }
func (*Completed) Class() otp.Class    { return otp.Sheddable }
func (*TaskStatus) Class() otp.Class   { return otp.Sheddable }
func (AttachRequest) Class() otp.Class { return otp.Owed }
func (Retire) Class() otp.Class        { return otp.Owed }
func (Stop) Class() otp.Class          { return otp.Owed }
func (Restart) Class() otp.Class       { return otp.Owed }
func (*Answer) Class() otp.Class       { return otp.Owed }
func (*Withdrawn) Class() otp.Class    { return otp.Owed }
func (Detach) Class() otp.Class        { return otp.Owed }
func (Forgotten) Class() otp.Class     { return otp.Owed }
func (Describe) Class() otp.Class      { return otp.Owed }
func (*Report) Class() otp.Class       { return otp.Owed }
func (*Unused) Class() otp.Class       { return otp.Owed }
func (*Left) Class() otp.Class         { return otp.Owed }

// Attach tells the connection that a session uses it. The catalogue makes this call when it hands the connection out, so that it knows
// who is still on the way. A connection that serves one session ends with it; a shared one ends when it has had no session for Linger:
// see Unused.
type Attach = otp.Call[AttachRequest, struct{}]

// AttachRequest names the session.
type AttachRequest struct {
	Session string // the session's row
	Ref     otp.Ref
	Holds   bool // the server keeps something for it between its calls, and may not sleep
	User
}

// Detach tells the connection that one who used it needs it no more, and has no call on the way there. The end of a session says the same.
type Detach struct{ Ref otp.Ref }

// Retire tells the connection that its server is declared otherwise now, or not at all. It goes on until its sessions have left and its calls
// have ended, and then is Unused. The catalogue sends it, and again after a crash of its own.
type Retire struct {
	// Removed says that the server is not declared any more. It is not started again for anybody.
	Removed bool
}

// Stop ends the connection for a reason that is told to whoever waits for it. The catalogue sends it when an operator says so.
type Stop struct{ Why *Ending }

// Forgotten tells a session that a connection does not know any more who uses it, and what they want of its server: it was replaced because it hung, or
// could not live with what it was left. A session that uses it says both again.
type Forgotten struct {
	Server string
	From   otp.Ref
}

// Restart replaces the server: what it has in hand ends for a reason that is told, and what waits for it goes to the next. The catalogue sends it
// when an operator says so.
type Restart struct{ Why *Ending }

// Unused is what a connection that nobody uses tells the catalogue, which ends it unless an Attach is on the way.
type Unused struct {
	Server string
	Key    tenant.Key
	From   otp.Ref
	Why    string // in a word, for the log
}

// Left is what the catalogue gets of a connection that was given up while sessions used it: who they are and what they had asked the server
// for. The next connection of this key starts with it; one that goes on without its heir gets it back.
type Left struct {
	Server   string
	Key      tenant.Key
	Declare  protocol.ClientCapabilities
	Self     protocol.Implementation
	Sessions map[string]otp.Ref
	URIs     map[string]map[string]bool // subscribed resources, and the sessions that want each
	Levels   map[string]string          // log level by session
	Holds    map[string]bool            // sessions for which the server keeps something
	Users    map[string]User            // on whose behalf they are
	Modern   bool                       // the era in which the server is spoken to first has no handshake
	Version  protocol.Version           // of whoever has the connection opened; zero when it is not known
	Bytes    int                        // what the catalogue keeps of it until there is another
}

// leftRow is what a session takes in each list of a Left, beside the URIs there.
const leftRow = 64

// size is how many bytes it keeps.
func (l *Left) size() int {
	n := (len(l.Sessions) + len(l.Levels) + len(l.Holds) + len(l.Users)) * leftRow
	for uri, who := range l.URIs {
		n += len(uri) + len(who)*leftRow
	}
	return n
}

// Answer carries the client's answer to a Question back to the connection. The session sends it, once per question.
type Answer struct {
	Question jsonrpc.ID // the server's own id
	Result   jsontext.Value
	Err      *jsonrpc.Error
	To       otp.Ref // who asked, so that it can be told of an answer that it crashed on; zero for nobody

	kept *quota.Reservation // of a large one, until the connection has passed it on
}

func (a *Answer) size() int { return len(a.Result) + a.Err.Size() }

// Count has a large answer count for its tenant until the connection has passed it on, or will not.
func (a *Answer) Count(kept *quota.Account) {
	if n := a.size(); n >= transport.Large {
		a.kept = kept.Hold(quota.Requests, n)
	}
}

// Give counts the answer and sends it to whoever asked.
func (a *Answer) Give(p *otp.Process, to otp.Ref, kept *quota.Account) {
	if a.Count(kept); p.Send(to, a) != nil {
		a.kept.Release()
	}
}

// Fail gives who asked an error in the place of an answer that crashed it, once.
func (a *Answer) Fail(err error) {
	a.kept.Release()
	if a.To != (otp.Ref{}) && !errors.Is(err, otp.ErrNoProc) {
		_ = a.To.Send(&Answer{Question: a.Question, Err: protocol.Translate(protocol.InternalError(err), protocol.V20251125)})
	}
}

// Describe asks for a Report. The catalogue sends it when it may have missed one.
type Describe struct{}

// Want tells the connection what a session wants of the server beside its calls. The answer comes when the server has answered what had
// to be asked of it for that; it is the server's own error when it refused the log level.
type Want = otp.Call[Wish, struct{}]

// Wish is all that a session wants to hear of unasked. It may be sent again and again: it adds to what the connection knows, and takes
// nothing back. To unsubscribe is a call.
type Wish struct {
	Session string
	Level   string   // that it asked for, if any; the server is asked for the most verbose of all sessions'
	URIs    []string // of resources it has subscribed to, as the server names them
	Missed  bool     // it had let go of these resources, and is told that they may have changed
}

// Tell passes a notification of a client on to the server (roots/list_changed, progress on a question, one of an extension). Nothing
// comes back. One of an extension waits until the server is ready.
type Tell struct {
	Method string
	Params jsontext.Value
	From   protocol.Version   // of the client; zero for what is the same in every revision that has it
	Kept   *quota.Reservation // of the memory that it takes; whoever is done with it releases it
}

// Fail lets go of one that nobody handles.
func (m *Tell) Fail(error) { m.Kept.Release() }

// Question is what the connection sends to a session when the server asks its client something. Answer comes back.
type Question struct {
	From     otp.Ref
	Server   string
	ID       jsonrpc.ID        // the server's own id
	Exchange *request.Exchange // the call it belongs to; nil when that is not known, or the server asked outside of any
	On       *request.Exchange // of no Exchange: another call of the same client, on whose stream it hears of it
	Method   string
	Params   jsontext.Value
}

// Fail refuses the question when the session could not handle it, so that the server does not wait.
func (q *Question) Fail(err error) {
	q.From.Send(&Answer{Question: q.ID, Err: protocol.Translate(err, protocol.V20251125)})
}

// Withdrawn tells the session that the server no longer wants an answer.
type Withdrawn struct {
	From     otp.Ref
	Question jsonrpc.ID
	Call     uint64 // the exchange it belonged to; 0 when none
}

// Completed tells whoever was given an elicitation that it is complete. A connection sends it to the
// session, or to the task, that the elicitation was put to, and to nobody else.
type Completed struct {
	Server string
	ID     string         // of the elicitation
	Params jsontext.Value // of the notification, as the server wrote them
}

// TaskStatus is what a server of 2025-11-25 says unasked of a task. A connection sends it to the actor
// that keeps the task.
type TaskStatus struct{ Params jsontext.Value }

// Lists holds what a server listed, by catalog.Kind, item by item as it wrote them. A nil list was not fetched, or the server offers none.
type Lists [Kinds][]jsontext.Value

// Kinds is how many lists a server has.
const Kinds = 4

// State says how far a connection is, in the words an operator reads in the tree.
type State string

// The states of an upstream.
const (
	Idle        State = "idle"        // nobody has asked for it yet
	Starting    State = "starting"    // dialling, or in its handshake
	Ready       State = "ready"       // handshake done, lists known, subscriptions restored
	Degraded    State = "degraded"    // ready, but for some connections, or without a list that could not be had
	Backoff     State = "backoff"     // failed, and being started again
	CrashLoop   State = "crash_loop"  // its restart budget ran out; started again after a pause, when somebody asks
	Quarantined State = "quarantined" // not started again but for a rare probe: its cause is permanent, or an operator said so
	Stopped     State = "stopped"     // it ran, and ended because nobody used it or nothing needed it; started again when somebody asks
)

// States are all of them, as they follow one another when a server does badly.
func States() []State {
	return []State{Idle, Starting, Ready, Degraded, Backoff, CrashLoop, Quarantined, Stopped}
}

// Report is what a connection tells the catalogue: its state, and when it is ready everything that was learnt.
type Report struct {
	Server      string
	Key         tenant.Key
	From        otp.Ref
	Incarnation uint64
	State       State
	Cause       error  // of Backoff and Quarantined: an *Ending, when a connection says it
	Away        bool   // of Backoff: nothing answers at its URL, and it waits for Redial
	GaveUp      bool   // of Backoff: it ends, as one whose restart budget ran out
	Channel     bool   // its server speaks HTTP+SSE
	Early       bool   // its server wants to ask the first session something
	Closed      string // of Stopped: why, in a word
	Lacks       string // of Ready: which lists could not be had, and why; empty when there are all
	At          time.Time
	Facts       Facts // of Ready
	Lists       Lists // of Ready
	Short       [Kinds]Shortfall
	Changed     []catalog.Kind // lists that are new since the last report, or of which the server says so
}
