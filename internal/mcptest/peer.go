package mcptest

import (
	"context"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/pipe"
)

// peerTime bounds every wait of a Peer. The steps of a script take no time, so that a longer wait
// is a test that hangs.
const peerTime = 10 * time.Second

// Peer is a server that does what a test tells it, step by step. A step that cannot be done fails
// the test.
type Peer struct {
	t   testing.TB
	end pipe.Server
}

// NewPeer creates a connection in memory and plays its server. The connection is closed at the end
// of the test.
func NewPeer(t testing.TB) (*Peer, transport.Upstream) {
	client, server := pipe.Pair(0)
	p := &Peer{t, server}
	t.Cleanup(func() { p.Close(nil) })
	return p, client
}

// Next waits for the next message of any kind.
func (p *Peer) Next() jsonrpc.Message {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), peerTime)
	defer cancel()
	m, err := p.end.Recv(ctx)
	if err != nil {
		p.t.Fatalf("peer: %v", err)
	}
	return m
}

// Expect waits for the next message, which must be a request or notification with this method.
func (p *Peer) Expect(method string) jsonrpc.Message {
	p.t.Helper()
	m := p.Next()
	if m.Method != method {
		p.t.Fatalf("peer: got %s, want %s", m.Append(nil), method)
	}
	return m
}

// ExpectAnswer waits for the next message, which must answer the request with this id.
func (p *Peer) ExpectAnswer(id jsonrpc.ID) jsonrpc.Message {
	p.t.Helper()
	m := p.Next()
	if m.Method != "" || m.ID != id {
		p.t.Fatalf("peer: got %s, want an answer to %s", m.Append(nil), id)
	}
	return m
}

// ExpectNothing checks that no message comes within d. It is for tests in virtual time.
func (p *Peer) ExpectNothing(d time.Duration) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if m, err := p.end.Recv(ctx); err == nil {
		p.t.Errorf("peer: got %s, want nothing for %v", m.Append(nil), d)
	}
}

// ExpectClosed waits for the end of the connection. A message that comes instead fails the test.
func (p *Peer) ExpectClosed() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), peerTime)
	defer cancel()
	m, err := p.end.Recv(ctx)
	switch {
	case err == nil:
		p.t.Fatalf("peer: got %s, want the end of the connection", m.Append(nil))
	case ctx.Err() != nil:
		p.t.Fatal("peer: the connection was not closed")
	}
}

// Reply answers a request with a result.
func (p *Peer) Reply(to jsonrpc.Message, result string) {
	p.t.Helper()
	p.Send(transport.Inbound{
		Message: jsonrpc.Response(to.ID, jsontext.Value(result)), RequestID: to.ID,
	})
}

// Refuse answers a request with an error.
func (p *Peer) Refuse(to jsonrpc.Message, code int64, message string) {
	p.t.Helper()
	p.Send(transport.Inbound{
		Message: jsonrpc.Failure(to.ID, &jsonrpc.Error{Code: code, Message: message}), RequestID: to.ID,
	})
}

// Notify sends a notification that belongs to the request related, or to none if related is zero.
func (p *Peer) Notify(related jsonrpc.ID, method, params string) {
	p.t.Helper()
	p.Send(transport.Inbound{
		Message: jsonrpc.Notification(method, jsontext.Value(params)), RequestID: related,
	})
}

// Ask sends the client a request that belongs to the request related, or to none if related is
// zero.
func (p *Peer) Ask(related, id jsonrpc.ID, method, params string) {
	p.t.Helper()
	p.Send(transport.Inbound{
		Message: jsonrpc.Request(id, method, jsontext.Value(params)), RequestID: related,
	})
}

// Send delivers anything that an upstream connection can yield, including failures and controls of
// the transport.
func (p *Peer) Send(in transport.Inbound) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), peerTime)
	defer cancel()
	if err := p.end.Send(ctx, in); err != nil {
		p.t.Fatalf("peer: %v", err)
	}
}

// Handshake is the server's side of initialize: it agrees to any revision that the client proposes,
// declares these capabilities, and waits for notifications/initialized. It returns the client's
// params.
func (p *Peer) Handshake(capabilities string) jsontext.Value {
	p.t.Helper()
	m := p.Expect("initialize")
	version, ok := jsonedit.Get(m.Params, "protocolVersion")
	if !ok {
		p.t.Fatalf("peer: no protocolVersion in %s", m.Params)
	}
	p.Reply(m, `{"protocolVersion":`+string(version)+`,"capabilities":`+capabilities+
		`,"serverInfo":{"name":"peer","version":"1"}}`)
	p.Expect("notifications/initialized")
	return m.Params
}

// Serve answers requests until the connection ends. Each gets the script's result for its method,
// or the error -32601 if the script has none. Serve returns at once; the end of the test waits for
// its goroutine.
func (p *Peer) Serve(script map[string]func(params jsontext.Value) string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			m, err := p.end.Recv(context.Background()) // ends with the connection, which Close below ends
			if err != nil {
				return
			}
			if m.Kind() != jsonrpc.KindRequest {
				continue
			}
			answer := jsonrpc.Failure(m.ID, &jsonrpc.Error{
				Code: jsonrpc.CodeMethodNotFound, Message: "the script has no " + m.Method,
			})
			if result := script[m.Method]; result != nil {
				answer = jsonrpc.Response(m.ID, jsontext.Value(result(m.Params)))
			}
			if p.end.Send(context.Background(), transport.Inbound{Message: answer, RequestID: m.ID}) != nil {
				return
			}
		}
	}()
	p.t.Cleanup(func() {
		p.Close(nil)
		<-done
	})
}

// Close ends the connection in the way of err, a *transport.ExitError; nil is an ordinary end.
// Repeated calls do nothing.
func (p *Peer) Close(err error) { p.end.Close(err) }
