package stage

import (
	"sync"
	"testing/synctest"

	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Log is what was written down, in order. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex // guards list
	list []any
}

// Add writes something down.
func (l *Log) Add(v any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, v)
}

// Emit is a telemetry.Sink.
func (l *Log) Emit(e telemetry.Event) { l.Add(e) }

// Of is what of one type was written down, when everything waits.
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

// Forget forgets what was written down.
func (l *Log) Forget() {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
}

// Box is a row in the place of an actor. It writes down what it receives; an error it receives is the reason it ends with.
type Box struct {
	Log
	// On, when it is set, sees each message after it was written down. It runs in the row.
	On func(msg any)
}

// boxMailbox is far more than a test sends at once, so that what a box has heard does not depend on
// which goroutine ran first.
const boxMailbox = 1 << 14

// Child is the box as a child of a supervisor.
func (b *Box) Child(id string) otp.Child {
	return otp.Child{ID: id, Restart: otp.Transient, Start: otp.Worker(b.Behaviour), Mailbox: boxMailbox}
}

// Behaviour is that of the row.
func (b *Box) Behaviour() otp.Behaviour { return &box{b: b} }

type box struct {
	otp.Base
	b *Box
}

func (x *box) Receive(_ *otp.Process, msg any) error {
	x.b.Add(msg)
	if x.b.On != nil {
		x.b.On(msg)
	}
	reason, _ := msg.(error)
	return reason
}

// Sink is the reply side of one request: what was sent on its stream, and its outcomes, of which the first counts.
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

// Sent is what was sent on the stream, when everything waits.
func (s *Sink) Sent() []jsonrpc.Message {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// All is every outcome, when everything waits.
func (s *Sink) All() []jsonrpc.Message {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ends
}

// End is the outcome that counts, when everything waits; the zero Message when there is none.
func (s *Sink) End() jsonrpc.Message {
	if all := s.All(); len(all) > 0 {
		return all[0]
	}
	return jsonrpc.Message{}
}

// Word is the outcome in a word: "result", "cancelled", "none", or the code of the error.
func (s *Sink) Word() any {
	switch m := s.End(); {
	case len(s.All()) == 0:
		return "none"
	case m.Error != nil:
		return m.Error.Code
	case m.Result != nil:
		return "result"
	}
	return "cancelled"
}
