package negotiate

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/negotiation"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// fakeHost is a Host with sessions in memory, whose requests run scripts by method.
type fakeHost struct {
	rules   negotiation.Rules
	scripts map[string]func(s *fakeSession, m jsonrpc.Message, out transport.Sink) error

	mu        sync.Mutex
	sessions  map[string]*fakeSession
	anonymous *fakeSession
	cancelled chan struct{} // one token for each Cancel
}

type fakeSession struct {
	*fakeHost
	id         string
	endpoint   streamable.Endpoint
	negotiated *negotiation.Client

	mu      sync.Mutex
	touched int
	asked   []jsonrpc.Message
}

// result responds with a result.
func result(text string) func(*fakeSession, jsonrpc.Message, transport.Sink) error {
	return func(_ *fakeSession, m jsonrpc.Message, out transport.Sink) error {
		out.Finish(jsonrpc.Response(m.ID, jsontext.Value(text)))
		return nil
	}
}

// failing responds with an error.
func failing(err error) func(*fakeSession, jsonrpc.Message, transport.Sink) error {
	return func(_ *fakeSession, m jsonrpc.Message, out transport.Sink) error {
		out.Finish(jsonrpc.Failure(m.ID, protocol.Translate(err, protocol.Latest)))
		return nil
	}
}

// Target parses a path as the host does, without tenants: /negotiate or /place/name.
func (f *fakeHost) Target(r *http.Request) (Target, *protocol.Error) {
	if r.Header.Get("Authorization") == "wrong" {
		return Target{}, protocol.Unauthenticated()
	}
	place, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	t := Target{
		Name: name, Negotiate: place == "negotiate",
		Endpoint: streamable.Endpoint{Principal: r.Header.Get("Authorization")},
	}
	switch place {
	case "resource":
		t.Place = negotiation.Resource
	case "subscription":
		t.Place = negotiation.Subscription
	}
	return t, nil
}

func (f *fakeHost) Rules(streamable.Endpoint) negotiation.Rules { return f.rules }

func (f *fakeHost) Open(_ context.Context, ep streamable.Endpoint,
	c *negotiation.Client) (Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &fakeSession{
		fakeHost: f, id: fmt.Sprintf("session-%d", len(f.sessions)+1), endpoint: ep, negotiated: c,
	}
	f.sessions[s.id] = s
	return s, nil
}

func (f *fakeHost) Lookup(_ context.Context, ep streamable.Endpoint, id string) (Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[id]; s != nil && s.endpoint == ep {
		return s, nil
	}
	return nil, streamable.ErrNoSession
}

func (f *fakeHost) Anonymous(context.Context, streamable.Endpoint) (Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.anonymous == nil {
		f.anonymous = &fakeSession{fakeHost: f}
	}
	return f.anonymous, nil
}

func (s *fakeSession) ID() string                      { return s.id }
func (s *fakeSession) Version() protocol.Version       { return protocol.Latest }
func (s *fakeSession) Negotiated() *negotiation.Client { return s.negotiated }
func (s *fakeSession) Cancel(transport.Sink)           { s.cancelled <- struct{}{} }

func (s *fakeSession) Touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touched++
}

func (s *fakeSession) Close(context.Context) error {
	s.fakeHost.mu.Lock()
	defer s.fakeHost.mu.Unlock()
	delete(s.sessions, s.id)
	return nil
}

func (s *fakeSession) Call(_ context.Context, m jsonrpc.Message, _ headers.Lookup,
	out transport.Sink) error {
	s.mu.Lock()
	s.asked = append(s.asked, m)
	s.mu.Unlock()
	return s.scripts[m.Method](s, m, out)
}

// last returns the last request of a session.
func (s *fakeSession) last() jsonrpc.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[len(s.asked)-1]
}
