package streamable

import (
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// reply collects the answer to one POST and is the Sink of its request. The form of the answer is
// undecided until something is sent: outcomes alone become JSON, anything else starts a stream.
type reply struct {
	out       streamResponse
	streams   *Streams
	requestID jsonrpc.ID // id of the only request; none for a batch
	from      string     // the address of the client
	// version is the revision of a stateless request, whose errors have their own HTTP status; 0 with
	// a session.
	version protocol.Version
	// the client's revision has primed streams, so it can be told to reconnect
	resumes bool
	batch   bool                  // the JSON form is an array
	listens bool                  // the request subscribes to notifications: its stream only waits
	budget  *transport.ByteBudget // byte budget for answers; nil sets no limit
	silence keepAliveTimer        // keep-alive timer until the answer begins
	// line is the connection on which the client waits, if this is the only request there; or nil.
	line *connection

	mu       sync.Mutex // guards the rest; locked before the Streams' mutex
	pending  int        // requests without outcome
	outcomes []jsonrpc.Message
	single   [1]jsonrpc.Message // initial storage of outcomes, since most POSTs carry one request
	unread   int                // bytes of outcomes counted in room
	errand   transport.Errand   // waits to be run
	stream   *stream            // nil while the answer may become JSON
	done     bool               // the only request has its outcome
	left     bool               // the client left
	gone     bool               // it left before there was a stream to resume
	lent     bool               // there was an errand
	decided  bool               // errands are no longer run
}

var (
	_ transport.Lender    = (*reply)(nil)
	_ transport.Sink      = (*batchMember)(nil)
	_ transport.Addressed = (*reply)(nil)
	_ transport.Addressed = (*batchMember)(nil)
	_ Reconnector         = (*reply)(nil)
	_ Reconnector         = (*batchMember)(nil)
)

func newReply(s *Streams, requests int, resumes bool) *reply {
	return replyOver(nil, s, requests, resumes)
}

// replyOver returns a reply to the only request of a connection: see lineOf.
func replyOver(line *connection, s *Streams, requests int, resumes bool) *reply {
	r := &reply{
		out: streamResponseOver(line), line: line, streams: s, resumes: resumes, pending: requests,
	}
	r.outcomes = r.single[:0]
	return r
}

// Send implements transport.Sink.
func (r *reply) Send(m jsonrpc.Message) error { return r.send(&r.done, m) }

// Finish implements transport.Sink.
func (r *reply) Finish(m jsonrpc.Message) bool { return r.finish(&r.done, m) }

// CloseStream implements Reconnector.
func (r *reply) CloseStream(retry time.Duration) { r.closeStream(&r.done, retry) }

// From implements transport.Addressed.
func (r *reply) From() string { return r.from }

// From implements transport.Addressed.
func (b *batchMember) From() string { return b.reply.from }

// Left reports whether messages sent before the outcome have no reader: the client has ended its
// request and has not reconnected to the stream.
func (r *reply) Left() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left && (r.stream == nil || !r.streams.attended(r.stream))
}

// Left returns the state of the POST.
func (b *batchMember) Left() bool { return b.reply.Left() }

// batchMember is the Sink of one request of a batch.
type batchMember struct {
	reply *reply
	done  bool // guarded by reply.mu
}

// Send implements transport.Sink.
func (b *batchMember) Send(m jsonrpc.Message) error { return b.reply.send(&b.done, m) }

// Finish implements transport.Sink.
func (b *batchMember) Finish(m jsonrpc.Message) bool { return b.reply.finish(&b.done, m) }

// CloseStream implements Reconnector.
func (b *batchMember) CloseStream(retry time.Duration) { b.reply.closeStream(&b.done, retry) }

// ended reports whether the only request has its outcome.
func (r *reply) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

func (r *reply) send(done *bool, m jsonrpc.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *done || r.gone {
		return transport.ErrClosed
	}
	if err := r.startStream(); err != nil {
		return err
	}
	return r.streams.send(r.stream, m)
}

func (r *reply) finish(done *bool, m jsonrpc.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *done {
		return false
	}
	*done = true
	r.pending--
	silent := m.Kind() == jsonrpc.KindInvalid
	if !r.left { // the Store limits the bytes that wait for a disconnected client
		r.unread += m.Size()
		r.budget.Add(m.Size())
	}
	if r.stream == nil {
		if !r.gone && !silent {
			r.outcomes = append(r.outcomes, m)
		}
		if r.pending == 0 {
			r.out.signal()
		}
		return true
	}
	if silent && r.out.nonce != "" && !r.requestID.IsZero() {
		m, silent = cancelledAnswer(r.requestID), false
	}
	if !silent {
		// An outcome is rejected only if the session has ended. Then no client can ask for it.
		_ = r.streams.send(r.stream, m)
	}
	if r.pending == 0 {
		r.streams.finish(r.stream)
	}
	return true
}

// cancelledAnswer returns the message that ends the stream of a request that its client has
// cancelled. The client needs no answer (2025-11-25 §basic/utilities/cancellation) and ignores it.
// Without an answer, though, it would reconnect if the stream had an event id. The message is a
// result because TypeScript clients (1.x) reconnect after an error too.
func cancelledAnswer(ask jsonrpc.ID) jsonrpc.Message {
	return jsonrpc.Response(ask, jsontext.Value(`{"_meta":{"mcpd/reason":"cancelled"}}`))
}

func (r *reply) closeStream(done *bool, retry time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *done || r.gone || !r.resumes {
		return
	}
	if r.startStream() == nil {
		r.streams.hangUp(r.stream, retry)
	}
}

// startStream turns the reply into a stream, unless it is one already, and moves the outcomes of a
// batch there. The mutex is held.
func (r *reply) startStream() error {
	if r.stream != nil {
		return nil
	}
	if !r.requestID.IsZero() {
		r.out.requestID = encodeRequestID(r.requestID)
	}
	st, err := r.streams.begin(&r.out)
	if err != nil {
		return err
	}
	r.stream = st
	for _, m := range r.outcomes {
		_ = r.streams.send(st, m)
	}
	r.outcomes, r.single[0] = nil, jsonrpc.Message{}
	if r.pending == 0 {
		r.streams.finish(st)
	}
	return nil
}

// answerForm is the form of the answer to a POST.
type answerForm uint8

const (
	undecided answerForm = iota
	asJSON               // outcomes holds the whole answer
	asStream
	asEmptyStream // the client cancelled its request, so there is no answer
	asSessionGone // the session ended during the wait
)

// decide returns the form of the answer. If late is set it decides in any case, because the client
// and the proxies in between need a sign of life.
func (r *reply) decide(late bool) answerForm {
	r.mu.Lock()
	defer r.mu.Unlock()
	shape := r.shape(late)
	r.decided = shape != undecided
	return shape
}

// shape is decide without the lock.
func (r *reply) shape(late bool) answerForm {
	switch {
	case r.stream != nil:
		return asStream
	case r.pending == 0 && len(r.outcomes) == 0:
		return asEmptyStream
	case r.pending == 0:
		return asJSON
	case !late:
		return undecided
	case r.startStream() != nil:
		return asSessionGone
	}
	return asStream
}

// leave records that the client is gone. The exchange continues. If there is no stream, its outcome
// can no longer be requested and is dropped.
func (r *reply) leave() {
	defer r.passErrand()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left {
		return
	}
	r.budget.Add(-r.unread)
	r.unread, r.left = 0, true
	if r.gone = r.stream == nil; r.gone {
		r.outcomes, r.single[0] = nil, jsonrpc.Message{}
		return
	}
	r.streams.detach(&r.out)
}
