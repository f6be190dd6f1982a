package negotiate

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// maxWaiting bounds the notifications that wait for a client to read them, as for a stream of the
// MCP endpoint. Beyond it the oldest are dropped.
const maxWaiting = 256

// exchange is one request to a session, and the sink of its outcome.
type exchange struct {
	params   jsontext.Value
	from     string // the address of the client
	progress bool   // the client gets progress notifications
	level    string // level of the log lines that the client gets; "" for none
	streams  bool   // messages before the outcome are kept

	budget *transport.ByteBudget // counts the outcome until it is read

	wake chan struct{} // holds a token when something is new

	mu      sync.Mutex // guards the rest
	waiting []jsonrpc.Message
	outcome jsonrpc.Message
	done    bool
	left    bool // the client has its response, or is gone
	dropped int
}

var (
	_ transport.Sink      = (*exchange)(nil)
	_ transport.Addressed = (*exchange)(nil)
)

func newExchange(params jsontext.Value) *exchange {
	return &exchange{params: params, wake: make(chan struct{}, 1)}
}

// From implements transport.Addressed.
func (e *exchange) From() string { return e.from }

// Send implements transport.Sink. A client of this interface gets no requests: a question comes as
// the response.
func (e *exchange) Send(m jsonrpc.Message) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done || m.Kind() != jsonrpc.KindNotification {
		return transport.ErrClosed
	}
	if !e.streams {
		return nil
	}
	if len(e.waiting) == maxWaiting {
		e.waiting = append(e.waiting[:0], e.waiting[1:]...)
		e.dropped++
	}
	e.waiting = append(e.waiting, m)
	e.signal()
	return nil
}

// Finish implements transport.Sink.
func (e *exchange) Finish(m jsonrpc.Message) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done {
		return false
	}
	e.done, e.outcome = true, m
	if !e.left {
		e.budget.Add(m.Size())
	}
	e.signal()
	return true
}

// abandon notes that the client does not read the outcome any more, and releases the room of the
// outcome.
func (e *exchange) abandon() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done && !e.left {
		e.budget.Add(-e.outcome.Size())
	}
	e.left = true
}

func (e *exchange) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// take removes and returns the messages before the outcome, with the outcome if it is there.
func (e *exchange) take() (notifications []jsonrpc.Message, outcome jsonrpc.Message, done bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	notifications, e.waiting = e.waiting, nil
	return notifications, e.outcome, e.done
}

// missed returns how many notifications were dropped.
func (e *exchange) missed() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dropped
}

// ended reports whether the outcome is there.
func (e *exchange) ended() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.done
}
