package held

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/gateway/quota"
	"mcpd/internal/sortedmap"
	"mcpd/protocol/held"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// carriedState is the carried state of the actor of a call: all that it knows.
type carriedState struct {
	o           *Options
	a           Args
	call        *held.Call
	sinks       held.RequestNumber // the number of the client's requests so far
	parks       bool               // the request manager was told to park the call
	reservation *quota.Reservation

	// mu guards what follows: a hanging actor is abandoned while it still runs.
	mu sync.Mutex
	// open holds the client's requests without outcome: one at most, and a second while that is being
	// checked.
	open      map[held.RequestNumber]*clientRequest
	questions map[jsonrpc.ID]*client.Question
}

// clientRequest is a request of the client.
type clientRequest struct {
	out   transport.Sink
	id    jsonrpc.ID
	token jsontext.Value // of progress; empty for none
	level string         // of log lines; empty for none
	// calls is the session that knows of this request, for a retry; nil for the client's first
	// request.
	calls *session.Calls
}

func newCarriedState(o *Options, a Args) *carriedState {
	return &carriedState{
		o: o, a: a, reservation: o.Kept.Count(quota.HeldCalls, 0),
		open:      map[held.RequestNumber]*clientRequest{},
		questions: map[jsonrpc.ID]*client.Question{},
	}
}

// resume continues the call after a crash, in the state that the crash has left.
func (c *Call) resume() error {
	err := c.perform(c.call.Recover(c.p.Now(), held.OwnerState{
		Server: c.a.Exchange.Server, Sinks: slices.Sorted(maps.Keys(c.open)),
		Asked: slices.SortedFunc(maps.Keys(c.questions), jsonrpc.ID.Compare),
	}))
	switch until, waits := c.call.Waits(); {
	case err != nil:
		c.over = true
		return c.p.Post(expired{})
	case waits:
		c.park(until.Sub(c.p.Now()))
	default:
		c.unpark()
	}
	return nil
}

// finish gives a request of the client its outcome: err when it is set, result otherwise, and
// nothing when its client has left.
func (e *carriedState) finish(sink held.RequestNumber, result jsontext.Value, err error) {
	o := e.take(sink)
	if o == nil { // it has one: the actor hung, and was abandoned
		return
	}
	var m jsonrpc.Message
	switch {
	case err != nil:
		m = request.Failure(o.id, err, e.a.Exchange.Version)
	case result != nil:
		m = jsonrpc.Response(o.id, result)
	}
	if o.calls != nil {
		o.calls.RemoveRetry(o.out)
	}
	o.out.Finish(m)
}

func (e *carriedState) take(sink held.RequestNumber) *clientRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.open[sink]
	delete(e.open, sink)
	return o
}

func (e *carriedState) put(q *client.Question) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.questions[q.ID] = q
}

// close removes a question and returns it; nil when there is none.
func (e *carriedState) close(id jsonrpc.ID) *client.Question {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := e.questions[id]
	delete(e.questions, id)
	return q
}

var errGone = errors.New("the call that the server asked for is gone")

// count counts the bytes that the call keeps: its questions, and once its exchange is over its
// request and result too.
func (e *carriedState) count() {
	n := e.call.Bytes()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, q := range e.questions {
		n += len(q.Params)
	}
	if e.call.Phase() == held.Parked {
		n += len(e.a.Exchange.Params) + e.a.Exchange.ExtraBytes
	}
	e.reservation.Resize(n)
}

// end closes the remaining questions, and releases the reservation of the call.
func (e *carriedState) end() {
	e.mu.Lock()
	questions := maps.Clone(e.questions)
	clear(e.questions)
	e.mu.Unlock()
	for _, q := range sortedmap.SortedBy(questions, jsonrpc.ID.Compare) {
		q.Fail(errGone)
	}
	e.reservation.Release()
}

// Abandon ends the call of an actor that is gone: its client and its server get errors, and the
// call is withdrawn.
func (e *carriedState) Abandon(reason error) {
	e.mu.Lock()
	open := maps.Clone(e.open)
	e.mu.Unlock()
	for sink := range sortedmap.Sorted(open) {
		e.finish(sink, nil, e.a.Exchange.Broken(reason))
	}
	e.end()
	_ = e.o.Requests.Send(request.NewCancel(e.o.Requests, e.a.Exchange.ID))
}
