package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/stdio"
	"mcpd/transport/streamable"
)

// remoteSession is a client's conversation with a host elsewhere. Ids pass as they are: both ends are the client's own.
type remoteSession struct {
	up      transport.Upstream
	push    stdio.Push
	gone    func(error) // told when the host is, with an exit code
	version atomic.Uint32
	stop    context.CancelFunc
	ended   chan struct{} // closed when the reader has ended
	probe   jsonrpc.Message
	mirrors *mirrors // of the tools, where requests stand alone; else nil

	mu    sync.Mutex // guards sinks
	sinks map[jsonrpc.ID]waiting
}

// waiting is a request without outcome.
type waiting struct {
	method string
	out    transport.Sink
	call   jsonrpc.Message // the request, if it may have to be sent once more; else zero
}

func newRemoteSession(up transport.Upstream, push stdio.Push, gone func(error)) *remoteSession {
	s := &remoteSession{up: up, push: push, gone: gone, probe: jsonrpc.Request(probe, "ping", nil), sinks: map[jsonrpc.ID]waiting{}}
	s.start()
	return s
}

// start starts the reader, for whose end Close waits.
func (s *remoteSession) start() {
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.ended = stop, make(chan struct{})
	go s.read(ctx)
}

// Version is what the host has agreed to, 0 before.
func (s *remoteSession) Version() protocol.Version { return protocol.Version(s.version.Load()) }

// Deliver sends a message of the client on.
func (s *remoteSession) Deliver(ctx context.Context, m jsonrpc.Message, out transport.Sink) error {
	if out != nil {
		w := waiting{method: m.Method, out: out}
		if s.mirrors != nil && m.Method == "tools/call" {
			w.call = jsonrpc.Request(m.ID, m.Method, bytes.Clone(m.Params))
		}
		s.wait(m.ID, w)
	}
	err := s.up.Send(ctx, m)
	switch {
	case err != nil && out != nil:
		s.take(m.ID)
	case err == nil && m.Method == "notifications/cancelled":
		s.cancelled(m)
	}
	return err
}

// cancelled ends the request that the client has cancelled: from here on the host does not answer it.
func (s *remoteSession) cancelled(m jsonrpc.Message) {
	raw, _ := splice.Get(m.Params, "requestId")
	id, err := jsonrpc.ParseID(raw)
	if err != nil {
		return
	}
	if w, ok := s.take(id); ok {
		w.out.Finish(jsonrpc.Message{})
	}
}

// Close ends the session at the host too.
func (s *remoteSession) Close(ctx context.Context) error {
	err := s.up.Close(ctx)
	s.stop()
	<-s.ended
	return err
}

// read hands what the host sends to whom it is for, until the connection ends.
func (s *remoteSession) read(ctx context.Context) {
	defer close(s.ended)
	for {
		in, err := s.up.Recv(ctx)
		if err != nil {
			s.fail(err)
			return
		}
		switch {
		case in.Err != nil:
			if s.failed(ctx, in) {
				s.fail(in.Err)
				return
			}
		case in.Message.Method != "":
			s.deliver(in)
		default:
			s.answer(in.Message)
		}
	}
}

// deliver passes on what belongs to a request with it, and anything else by itself.
func (s *remoteSession) deliver(in transport.Inbound) {
	s.mu.Lock()
	w, ok := s.sinks[in.Related]
	s.mu.Unlock()
	if ok && w.out.Send(in.Message) == nil {
		return
	}
	_ = s.push(in.Message) // a client that does not read is told so by the transport
}

func (s *remoteSession) answer(m jsonrpc.Message) {
	w, ok := s.take(m.ID)
	if !ok {
		return
	}
	if w.method == "initialize" && m.Error == nil {
		name, _ := splice.GetString(m.Result, "protocolVersion")
		if v, known := protocol.ParseVersion(name); known {
			s.version.Store(uint32(v))
			s.up.Negotiated(v)
		}
	}
	if s.mirrors != nil && s.mirrors.refused(s, w, m) {
		return
	}
	w.out.Finish(m)
}

func (s *remoteSession) wait(id jsonrpc.ID, w waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sinks[id] = w
}

func (s *remoteSession) take(id jsonrpc.ID) (waiting, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.sinks[id]
	delete(s.sinks, id)
	return w, ok
}

// probe is the id of a request whose answer nobody waits for. Clients count, or make up something random.
var probe = jsonrpc.StringID("mcpd stdio looks for its host")

// failed answers a request that the host did not, and reports whether there is no host to go on with: it cannot be reached, or has not
// opened the session. A connection that broke says neither yet.
func (s *remoteSession) failed(ctx context.Context, in transport.Inbound) (over bool) {
	var broken *net.OpError
	w, ok := s.take(in.Related)
	if refused := refusal(in.Err); ok && refused != nil { // the client may try again, as over HTTP
		w.out.Finish(jsonrpc.Failure(in.Related, refused))
		return false
	}
	if ok {
		w.out.Finish(jsonrpc.Failure(in.Related, s.lost(in.Written, in.Err)))
		_ = s.up.Send(ctx, s.probe) // without a place for it the next failure will do
	}
	return ok && w.method == "initialize" || errors.As(in.Err, &broken) && broken.Op == "dial"
}

// refusal is what the host itself said of a request that it does not take for now, as when the tenant
// is paused; nil when it said nothing of the kind.
func refusal(err error) *jsonrpc.Error {
	var status *streamable.StatusError
	if !errors.As(err, &status) || !status.Later() {
		return nil
	}
	answer, err := jsonrpc.Decode([]byte(status.Body), jsonrpc.Limits{})
	if err != nil {
		return nil
	}
	return answer.Error
}

// lost says to the client what became of the host.
func (s *remoteSession) lost(written bool, err error) *jsonrpc.Error {
	e := protocol.UpstreamLost("host", written, err)
	e.Message += ": " + telemetry.Clean(s.why(err).Error(), protocol.MaxDetail)
	return protocol.Translate(e, s.Version())
}

// fail answers everything that waits: the host is gone, or we are.
func (s *remoteSession) fail(err error) {
	s.mu.Lock()
	all := s.sinks
	s.sinks = map[jsonrpc.ID]waiting{}
	s.mu.Unlock()
	for id, w := range all {
		w.out.Finish(jsonrpc.Failure(id, s.lost(true, err)))
	}
	if !errors.Is(err, transport.ErrClosed) && !errors.Is(err, context.Canceled) {
		s.gone(s.why(err))
	}
}

// why says where the host should be and what is wrong there.
func (s *remoteSession) why(err error) error { return unreachable(s.up.Info().URL, err) }
