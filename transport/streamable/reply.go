package streamable

import (
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// reply gathers what one POST is answered with, and is the Sink of its request. Whether the answer is JSON or a stream is open until
// something is there: outcomes alone are JSON, anything else starts a stream.
type reply struct {
	out     outlet
	streams *Streams
	ask     jsonrpc.ID       // of the one request; none for a batch
	from    string           // the address of the client
	version protocol.Version // of a request that stands alone: its errors have a status of their own; 0 for those of a session
	resumes bool             // the client's revision has primed streams, so it can be sent away
	batch   bool             // the JSON form is an array
	listens bool             // the request asks for what is announced: its stream only waits
	room    *transport.Room  // of those whom it is for; nil has no bound
	silence silence          // while nothing was said
	line    *connection      // over which the client waits, if it waits for nothing else there; or nil

	mu       sync.Mutex // guards the rest; taken before the Streams' mutex
	pending  int        // requests without outcome
	outcomes []jsonrpc.Message
	single   [1]jsonrpc.Message // what outcomes begins as, since most POSTs carry one request
	unread   int                // bytes of outcomes that take room
	errand   transport.Errand   // that waits to be run
	stream   *stream            // nil while the answer may become JSON
	done     bool               // the one request has its outcome
	left     bool               // the client left
	gone     bool               // it left before there was a stream to come back to
	lent     bool               // there was an errand
	decided  bool               // nobody runs errands any more
}

var (
	_ transport.Lender    = (*reply)(nil)
	_ transport.Sink      = (*member)(nil)
	_ transport.Addressed = (*reply)(nil)
	_ transport.Addressed = (*member)(nil)
	_ Reconnector         = (*reply)(nil)
	_ Reconnector         = (*member)(nil)
)

func newReply(s *Streams, requests int, resumes bool) *reply {
	return replyOver(nil, s, requests, resumes)
}

// replyOver is a reply to the one request of a connection: see lineOf.
func replyOver(line *connection, s *Streams, requests int, resumes bool) *reply {
	r := &reply{
		out: outletOver(line), line: line, streams: s, resumes: resumes, pending: requests,
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
func (b *member) From() string { return b.reply.from }

// Left reports whether nobody reads what is sent before the outcome: the client has ended its
// request and not come back for the stream.
func (r *reply) Left() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left && (r.stream == nil || !r.streams.attended(r.stream))
}

// Left is that of the POST.
func (b *member) Left() bool { return b.reply.Left() }

// member is the Sink of one request of a batch.
type member struct {
	reply *reply
	done  bool // guarded by reply.mu
}

// Send implements transport.Sink.
func (b *member) Send(m jsonrpc.Message) error { return b.reply.send(&b.done, m) }

// Finish implements transport.Sink.
func (b *member) Finish(m jsonrpc.Message) bool { return b.reply.finish(&b.done, m) }

// CloseStream implements Reconnector.
func (b *member) CloseStream(retry time.Duration) { b.reply.closeStream(&b.done, retry) }

// ended reports whether the one request has its outcome.
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
	if err := r.begin(); err != nil {
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
	if !r.left { // what waits for a client to come back is bounded by the Store
		r.unread += m.Size()
		r.room.Add(m.Size())
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
	if silent && r.out.nonce != "" && !r.ask.IsZero() {
		m, silent = withdrawn(r.ask), false
	}
	if !silent {
		_ = r.streams.send(r.stream, m) // an outcome is only refused when the session ended: then nobody can ask for it
	}
	if r.pending == 0 {
		r.streams.finish(r.stream)
	}
	return true
}

// withdrawn ends the stream of a request that its client has cancelled. The client needs no answer
// (2025-11-25 §basic/utilities/cancellation) and ignores it, but comes back for one if the stream had
// an id and ends without. It is a result because TypeScript clients (1.x) come back after errors too.
func withdrawn(ask jsonrpc.ID) jsonrpc.Message {
	return jsonrpc.Response(ask, jsontext.Value(`{"_meta":{"mcpd/reason":"cancelled"}}`))
}

func (r *reply) closeStream(done *bool, retry time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *done || r.gone || !r.resumes {
		return
	}
	if r.begin() == nil {
		r.streams.hangUp(r.stream, retry)
	}
}

// begin turns the reply into a stream, if it is none yet, and moves the outcomes of a batch there. The mutex is held.
func (r *reply) begin() error {
	if r.stream != nil {
		return nil
	}
	if !r.ask.IsZero() {
		r.out.asks = asking(r.ask)
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

// shape is how a POST is answered.
type shape uint8

const (
	undecided shape = iota
	asJSON          // outcomes holds all of it
	asStream
	asSilence // the client cancelled what it had asked, so there is no answer
	asNothing // the session ended while we waited for it
)

// decide says how to answer, now. Late asks for an answer in any case: the client, and the proxies before it, want a sign of life.
func (r *reply) decide(late bool) shape {
	r.mu.Lock()
	defer r.mu.Unlock()
	shape := r.shape(late)
	r.decided = shape != undecided
	return shape
}

// shape is decide without the lock.
func (r *reply) shape(late bool) shape {
	switch {
	case r.stream != nil:
		return asStream
	case r.pending == 0 && len(r.outcomes) == 0:
		return asSilence
	case r.pending == 0:
		return asJSON
	case !late:
		return undecided
	case r.begin() != nil:
		return asNothing
	}
	return asStream
}

// leave says that the client is gone. The exchange goes on; without a stream nobody can ask for its outcome any more.
func (r *reply) leave() {
	defer r.pass()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left {
		return
	}
	r.room.Add(-r.unread)
	r.unread, r.left = 0, true
	if r.gone = r.stream == nil; r.gone {
		r.outcomes, r.single[0] = nil, jsonrpc.Message{}
		return
	}
	r.streams.detach(&r.out)
}
