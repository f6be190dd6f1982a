package server

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Endpoint is the path of a server behind a URL.
const Endpoint = "/mcp"

// Bounds of a server behind a URL.
const (
	maxSessions = 1000
	// headerTime is how long a client may take to send the header of a request.
	headerTime = 5 * time.Second
	// idleTime is how long an idle connection is kept. It is the default of Node.js, on which many MCP
	// servers run.
	idleTime = 5 * time.Second
)

// HTTPOptions are the options of ServeHTTP.
type HTTPOptions struct {
	Listener net.Listener
	State    string // as in Options
}

// ServeHTTP serves any number of clients over Streamable HTTP until ctx ends. Clients of the
// revisions with a handshake have a session; requests of the later revision are stateless. It
// returns the error of the listener.
func ServeHTTP(ctx context.Context, o HTTPOptions) error {
	ctx, stop := context.WithCancel(ctx)
	w := &web{
		memory: &memory{}, state: o.State, all: ctx, sessions: map[string]bool{},
		streams: map[*stream]bool{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Endpoint, w.post)
	mux.HandleFunc("GET "+Endpoint, w.get)
	mux.HandleFunc("DELETE "+Endpoint, w.delete)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime}
	w.background.Go(func() { // ends with ctx
		<-ctx.Done()
		_ = s.Close()
	})
	err := s.Serve(o.Listener)
	stop()
	w.background.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// web is a server behind a URL.
type web struct {
	*memory
	state      string
	all        context.Context
	background sync.WaitGroup // work besides the requests

	mu       sync.Mutex // guards the fields below
	sessions map[string]bool
	streams  map[*stream]bool
}

// exchange is one HTTP request.
type exchange struct {
	web *web
	to  http.ResponseWriter
}

// raw sends a part of an event stream unchanged.
func (x *exchange) raw(text string) {
	x.to.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(x.to, text) // the client may be gone
	_ = http.NewResponseController(x.to).Flush()
}

// post handles a message from a client.
func (w *web) post(to http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(to, r.Body, maxLine))
	var m message
	if err != nil || json.Unmarshal(body, &m) != nil {
		http.Error(to, "no message", http.StatusBadRequest)
		return
	}
	switch {
	case stateless(m): // a stateless request needs no session
	case m.Method == "initialize":
		id, ok := w.open()
		if !ok {
			http.Error(to, "too many sessions", http.StatusServiceUnavailable)
			return
		}
		to.Header().Set("Mcp-Session-Id", id)
	case !w.knows(to, r):
		return
	}
	if m.ID == nil || m.Method == "" { // a notification, or an answer to a request of the server
		to.WriteHeader(http.StatusAccepted)
		return
	}
	s := &server{
		Options: Options{Out: &events{to: to}, State: w.state}, memory: w.memory,
		exchange: &exchange{w, to},
	}
	s.send = func(line []byte) {
		to.Header().Set("Content-Type", "application/json")
		_, _ = to.Write(line) // the client may be gone
	}
	s.prepare(m)(r.Context())
}

// get opens a stream for messages that the server sends unasked.
func (w *web) get(to http.ResponseWriter, r *http.Request) {
	if !w.knows(to, r) {
		return
	}
	s := &stream{out: events{to: to}}
	s.out.begin()
	w.mu.Lock()
	w.streams[s] = true
	w.mu.Unlock()
	select {
	case <-r.Context().Done():
	case <-w.all.Done():
	}
	w.mu.Lock()
	delete(w.streams, s)
	w.mu.Unlock()
	s.end()
}

// delete ends a session.
func (w *web) delete(to http.ResponseWriter, r *http.Request) {
	if w.knows(to, r) {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.sessions, r.Header.Get("Mcp-Session-Id"))
	}
}

func (w *web) open() (id string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, ok = rand.Text(), len(w.sessions) < maxSessions
	if ok {
		w.sessions[id] = true
	}
	return id, ok
}

// knows reports whether a request belongs to a session, and otherwise refuses it (2025-11-25
// §basic/transports, "Session Management").
func (w *web) knows(to http.ResponseWriter, r *http.Request) bool {
	id := r.Header.Get("Mcp-Session-Id")
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case id == "":
		http.Error(to, "no session", http.StatusBadRequest)
	case !w.sessions[id]:
		http.Error(to, "no such session", http.StatusNotFound)
	}
	return w.sessions[id]
}

// forget drops all sessions.
func (w *web) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.sessions)
}

// unasked runs do with a server that writes to all standing streams.
func (w *web) unasked(do func(context.Context, *server)) {
	s := &server{
		Options: Options{Out: w, State: w.state}, memory: w.memory, exchange: &exchange{web: w},
	}
	w.background.Go(func() { do(w.all, s) }) // ends with the fault, or with the server
}

// Write writes to all standing streams. A message is lost if there is none.
func (w *web) Write(b []byte) (int, error) {
	w.mu.Lock()
	list := make([]*stream, 0, len(w.streams))
	for s := range w.streams {
		list = append(list, s)
	}
	w.mu.Unlock()
	for _, s := range list {
		s.write(b)
	}
	return len(b), nil
}
