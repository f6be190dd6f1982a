package client

import (
	"sync/atomic"
	"time"

	"mcpd/actors/request"
	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// shortcut is a short way for answers: the goroutine that has read an answer gives it to the
// client, without a message to the actor. It takes only answers with which the actor would do
// nothing else. It takes them only while the actor has handled everything that was read before, so
// that an answer does not overtake earlier messages of its server. There is one for each transport.
type shortcut struct {
	p       *otp.Process
	calls   *inflightRequests
	written *request.List
	asked   *atomic.Int64 // requests to which no answer was read: see readLimiter
	begun   time.Time

	read          atomic.Uint64                    // how many messages were handed to the actor
	handled       atomic.Uint64                    // the last of them that the actor has handled
	translator    atomic.Pointer[resultTranslator] // nil while nothing may be taken
	attentive     atomic.Bool                      // the actor waits for calls to end
	wakeScheduled atomic.Bool                      // the actor is going to be told that some have
	used          atomic.Int64                     // how long after begun it was last used
}

// endedWithoutActor tells the actor of a call that has ended without it.
type endedWithoutActor struct {
	late *telemetry.ReplyDropped // its answer, which came too late; nil for most
}

// Class returns otp.Reserved (reserved), so a full mailbox does not refuse the message: there is
// one for calls that ended meanwhile, and one for each late answer.
func (endedWithoutActor) Class() otp.Class { return otp.Reserved }

func newShortcut(c *Connection) *shortcut {
	return &shortcut{p: c.p, calls: c.calls, written: c.written, asked: c.unanswered, begun: c.p.Now()}
}

// plain reports whether the actor only passes on the answer to a call. Three things must hold: no
// other call waits for this one to end, the answer affects only the result of this call, and no
// progress has to be sent before.
func (c *Connection) plain(x *request.Exchange) bool {
	_, list := catalog.KindOfMethod(x.Method)
	return !list && !x.NeedsConnection && len(x.Token) == 0 && x.Level == "" && !c.oneClientAtATime()
}

// take gives an answer to its client, and reports whether it did. The actor handles the others.
func (s *shortcut) take(in transport.Inbound) bool {
	h, m := s.translator.Load(), in.Message
	if h == nil || in.Err != nil || in.Control != nil || m.Method != "" || m.Error != nil ||
		m.Result.Kind() != '{' || m.Size() >= transport.Large || s.handled.Load() != s.read.Load() ||
		h.version.Has(protocol.ResultType) && mrtr.TypeOf(m.Elided()) != mrtr.Complete ||
		s.p.FaultArmed() {
		return false
	}
	f := callOfReply(s.calls, m.ID)
	if f == nil {
		return false
	}
	now := s.p.Now()
	// This comes before the call is taken out, so that code which finds no call in flight sees when
	// the last one was.
	s.used.Store(int64(now.Sub(s.begun)))
	if !s.calls.takePlain(f) {
		return false
	}
	s.asked.Add(-1)
	answer := answerOf(f, m, now)
	answer.Result, answer.Err = h.result(f.x, m.Result)
	first := f.x.Settle(answer)
	s.written.Remove(f.x)
	switch {
	case !first:
		_ = s.p.Post(endedWithoutActor{&telemetry.ReplyDropped{
			Method: f.x.Method, Reason: f.x.Lateness(), After: answer.Waited, Count: 1,
		}})
	case s.attentive.Load() && !s.wakeScheduled.Swap(true):
		_ = s.p.Post(endedWithoutActor{})
	}
	return true
}

// next returns the number of a message that the actor gets.
func (s *shortcut) next() uint64 { return s.read.Add(1) }

// reached records that the actor has handled a message.
func (s *shortcut) reached(number uint64) { s.handled.Store(number) }

// close closes the shortcut: nothing that is read from now on is taken. The shortcut may be nil.
func (s *shortcut) close() {
	if s != nil {
		s.translator.Store(nil)
	}
}

// usedLast returns when an answer was last taken, or else when the shortcut was made.
func (s *shortcut) usedLast() time.Time { return s.begun.Add(time.Duration(s.used.Load())) }

// attend tells the shortcut whether something here waits for calls to end. It looks once more for
// calls that have ended just before.
func (c *Connection) attend() {
	waits := len(c.queue) > 0 || c.instances.Len() > 0 || c.primary != (otp.Ref{}) ||
		c.early.Waiting()
	if waits == c.shortcut.attentive.Load() {
		return
	}
	if c.shortcut.attentive.Store(waits); waits {
		_ = c.p.Post(endedWithoutActor{})
	}
}

// spared does what follows the end of each call.
func (c *Connection) spared(m endedWithoutActor) {
	c.shortcut.wakeScheduled.Store(false)
	if m.late != nil {
		m.late.Where = c.where()
		c.drops.Reply(c.p, c.o.Emit, *m.late)
	}
	c.admitQueued()
}

// answerOf returns the outcome of a call that its server has answered, without its result or error.
func answerOf(f *inflightRequest, m jsonrpc.Message, now time.Time) request.Outcome {
	failed := m.MayHave("isError") && jsonedit.Kind(m.Elided(), "isError") == 't'
	return request.Outcome{Waited: now.Sub(f.at), ToolError: failed}
}
