package testrig

import (
	"sync"
	"testing/synctest"

	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Log records values, in order. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex // guards list
	list []any
}

// Add records a value.
func (l *Log) Add(v any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, v)
}

// Emit is a telemetry.Sink.
func (l *Log) Emit(e telemetry.Event) { l.Add(e) }

// Of returns the recorded values of one type, once all goroutines of the bubble are blocked.
func Of[T any](l *Log) (found []T) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range l.list {
		if t, ok := v.(T); ok {
			found = append(found, t)
		}
	}
	return found
}

// Forget drops the record.
func (l *Log) Forget() {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
}

// Box is a row that stands in for an actor. It records the messages that it receives; it exits with
// an error that it receives as its reason.
type Box struct {
	Log
	// On, if set, is called with each message after it was recorded, in the goroutine of the row.
	On func(msg any)
}

// boxMailbox is far more than a test sends at once, so that the messages that a box records do not
// depend on the scheduling of goroutines.
const boxMailbox = 1 << 14

// Child is the box as a child of a supervisor.
func (b *Box) Child(id string) otp.Child {
	return otp.Child{
		ID: id, Restart: otp.Transient, Start: otp.Worker(b.Behaviour), Mailbox: boxMailbox,
	}
}

// Behaviour is that of the row.
func (b *Box) Behaviour() otp.Behaviour { return &box{b: b} }

type box struct {
	otp.Base
	b *Box
}

func (x *box) Receive(_ *otp.Process, msg any) error {
	if call, ok := msg.(interface{ AnswerLater() }); ok {
		call.AnswerLater()
	}
	x.b.Add(msg)
	if x.b.On != nil {
		x.b.On(msg)
	}
	reason, _ := msg.(error)
	return reason
}

// Sink is the reply side of one request. It records the messages sent on its stream, and its
// outcomes, of which the first counts.
type Sink struct {
	mu   sync.Mutex // guards the fields below
	sent []jsonrpc.Message
	ends []jsonrpc.Message
}

// Send implements transport.Sink.
func (s *Sink) Send(m jsonrpc.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, m)
	return nil
}

// Finish implements transport.Sink.
func (s *Sink) Finish(m jsonrpc.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, m)
	return len(s.ends) == 1
}

// Sent returns the messages sent on the stream, once all goroutines are blocked.
func (s *Sink) Sent() []jsonrpc.Message {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// All returns every outcome, once all goroutines are blocked.
func (s *Sink) All() []jsonrpc.Message {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ends
}

// Outcome returns the first outcome, once all goroutines are blocked; the zero Message when there
// is none.
func (s *Sink) Outcome() jsonrpc.Message {
	if all := s.All(); len(all) > 0 {
		return all[0]
	}
	return jsonrpc.Message{}
}

// Word returns the outcome in a word: "result", "cancelled", "none", or the code of the error.
func (s *Sink) Word() any {
	switch m := s.Outcome(); {
	case len(s.All()) == 0:
		return "none"
	case m.Error != nil:
		return m.Error.Code
	case m.Result != nil:
		return "result"
	}
	return "cancelled"
}
