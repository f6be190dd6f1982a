package client

import (
	"sync/atomic"
	"time"

	"mcpd/actors/request"
	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport"
)

// shortcut is the short way of an answer: who has read it gives it to the client, and the actor is
// spared a message. It is for answers with which the actor would do nothing else, and only while
// everything is handled that was read before: what a server has said before an answer arrives before
// it. There is one for each transport.
type shortcut struct {
	p       *otp.Process
	calls   *flights
	written *request.List
	asked   *atomic.Int64 // requests to which no answer was read: see reading
	begun   time.Time

	read      atomic.Uint64           // how many messages were handed to the actor
	handled   atomic.Uint64           // the last of them that it has handled
	hears     atomic.Pointer[hearing] // nil: nothing may be taken
	attentive atomic.Bool             // the actor waits for calls to end
	told      atomic.Bool             // it is going to hear that some have
	used      atomic.Int64            // how long after begun it was used last
}

// spared tells the actor of a call that has ended without it.
type spared struct {
	late *telemetry.ReplyDropped // its answer, which came too late; nil for most
}

// Class lets it be heard however full the mailbox is: there is one for calls that ended meanwhile, and
// one for each whose answer is late.
func (spared) Class() otp.Class { return otp.Owed }

func newShortcut(c *Connection) *shortcut {
	return &shortcut{p: c.p, calls: c.calls, written: c.written, asked: c.unanswered, begun: c.p.Now()}
}

// plain reports whether the actor has nothing to do with the answer to a call but pass it on: the
// call keeps nobody waiting, nothing but its result depends on what the server says, and no progress
// of it has to be told before.
func (c *Connection) plain(x *request.Exchange) bool {
	_, list := catalog.Listed(x.Method)
	return !list && !x.Stays && len(x.Token) == 0 && x.Level == "" && !c.exclusive()
}

// take gives an answer to its client, and reports whether it did. Otherwise it is the actor's.
func (s *shortcut) take(in transport.Inbound) bool {
	h, m := s.hears.Load(), in.Message
	if h == nil || in.Err != nil || in.Control != nil || m.Method != "" || m.Error != nil ||
		m.Result.Kind() != '{' || m.Size() >= transport.Large || s.handled.Load() != s.read.Load() ||
		h.version.Has(protocol.ResultType) && mrtr.TypeOf(m.Outline()) != mrtr.Complete ||
		s.p.Disturbed() {
		return false
	}
	f := whose(s.calls, m.ID)
	if f == nil {
		return false
	}
	now := s.p.Now()
	s.used.Store(int64(now.Sub(s.begun))) // before: who finds no call finds that there was one
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
		_ = s.p.Post(spared{&telemetry.ReplyDropped{
			Method: f.x.Method, Reason: f.x.Lateness(), After: answer.Waited, Count: 1,
		}})
	case s.attentive.Load() && !s.told.Swap(true):
		_ = s.p.Post(spared{})
	}
	return true
}

// next is the number of a message that the actor gets.
func (s *shortcut) next() uint64 { return s.read.Add(1) }

// reached notes that the actor has handled a message.
func (s *shortcut) reached(number uint64) { s.handled.Store(number) }

// shut closes the way: nothing that is read from now on is taken. Nil is none.
func (s *shortcut) shut() {
	if s != nil {
		s.hears.Store(nil)
	}
}

// usedLast is when an answer was taken last, or when the way was made.
func (s *shortcut) usedLast() time.Time { return s.begun.Add(time.Duration(s.used.Load())) }

// attend says whether somebody here waits for calls to end. Those that have ended just before that
// was known are looked at once more.
func (c *Connection) attend() {
	waits := len(c.queue) > 0 || c.instances.Len() > 0 || c.primary != (otp.Ref{}) ||
		c.early.Waiting()
	if waits == c.way.attentive.Load() {
		return
	}
	if c.way.attentive.Store(waits); waits {
		_ = c.p.Post(spared{})
	}
}

// spared does what is done at the end of each call.
func (c *Connection) spared(m spared) {
	c.way.told.Store(false)
	if m.late != nil {
		m.late.Where = c.where()
		c.drops.Reply(c.p, c.o.Emit, *m.late)
	}
	c.takeTurns()
}

// answerOf is the outcome of a call that its server has answered, as far as the answer says it.
func answerOf(f *flight, m jsonrpc.Message, now time.Time) request.Outcome {
	failed := m.May("isError") && splice.Kind(m.Outline(), "isError") == 't'
	return request.Outcome{Waited: now.Sub(f.at), ToolError: failed}
}
